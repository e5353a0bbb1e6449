"""Uses a Label Studio project as a person and a program would: its SDK, its page, its export.

Run by ``tests/serving/test_real_label_studio.py`` with the Python of Label Studio's environment,
which does not have metacross. Reads what to do as JSON from standard input, prints what happened.
"""

import json
import sys
import time

from label_studio_sdk import LabelStudio
from label_studio_sdk.label_interface import LabelInterface
from playwright.sync_api import sync_playwright


def main() -> None:
    plan = json.load(sys.stdin)
    client = LabelStudio(base_url=plan["url"], api_key=plan["api_key"])
    project = client.projects.create(title="metacross", label_config=plan["config"])
    client.projects.import_tasks(id=project.id, request=plan["tasks"])
    backend = client.ml.create(
        url=plan["backend"],
        project=project.id,
        auth_method="BASIC_AUTH",
        basic_auth_user="metacross",
        basic_auth_pass=plan["token"],
    )
    client.webhooks.create(
        url=plan["backend"] + "/webhook",
        project=project.id,
        headers={"Authorization": f"Bearer {plan['token']}"},
        send_payload=True,
        send_for_all_actions=True,
        is_active=True,
    )
    tasks = [task.id for task in client.tasks.list(project=project.id)]
    client.actions.create(
        id="retrieve_tasks_predictions",
        project=project.id,
        selected_items={"all": True, "excluded": []},
    )
    predictions = _predictions(client, project.id, len(tasks))
    interface = LabelInterface(plan["config"])
    problems = [
        interface.validate_prediction(
            {"model_version": p.model_version, "score": p.score, "result": p.result},
            return_errors=True,
        )
        for p in predictions
    ]
    _annotate(plan, project.id, tasks[0])
    exported = client.projects.exports.as_json(project.id)
    json.dump(
        {
            "backend": backend.id,
            "tasks": tasks,
            "predictions": [
                {"task": p.task, "version": p.model_version, "score": p.score, "result": p.result}
                for p in predictions
            ],
            "problems": problems,
            "export": exported,
        },
        sys.stdout,
        default=str,
    )


def _predictions(client: LabelStudio, project: int, n: int) -> list:
    end = time.monotonic() + 120
    while True:
        found = client.predictions.list(project=project)
        if len(found) >= n or time.monotonic() > end:
            return list(found)
        time.sleep(1)


def _annotate(plan: dict, project: int, task: int) -> None:
    """Log in, choose a label, mark a word with the mouse, submit."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=plan["chromium"], args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(120_000)
        page.goto(plan["url"] + "/user/login/")
        page.fill("input[name=email]", plan["user"])
        page.fill("input[name=password]", plan["password"])
        page.press("input[name=password]", "Enter")
        page.wait_for_url(lambda url: "login" not in url)
        page.goto(f"{plan['url']}/projects/{project}/data?task={task}")
        text = page.locator("[class*=htx-richtext]").first
        text.wait_for()
        page.wait_for_timeout(3000)
        page.screenshot(path=plan["screenshot"])
        page.locator("[class*=label]", has_text=plan["label"]).last.click()
        box = text.evaluate(_BOX_OF_WORD, plan["word"])
        page.mouse.move(box["left"] + 1, box["top"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["right"] - 1, box["top"] + box["height"] / 2, steps=10)
        page.mouse.up()
        page.wait_for_timeout(1000)
        page.screenshot(path=plan["screenshot"])
        page.get_by_role("button", name="Submit").click()
        page.wait_for_timeout(4000)
        browser.close()


_BOX_OF_WORD = """(element, word) => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const at = node.data.indexOf(word);
    if (at >= 0) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + word.length);
      const {left, right, top, height} = range.getBoundingClientRect();
      return {left, right, top, height};
    }
  }
  throw new Error("no such word: " + word);
}"""


if __name__ == "__main__":
    main()
