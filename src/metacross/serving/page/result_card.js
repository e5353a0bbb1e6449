// The card of the result: summary, views, the text with its entities, legends and copy buttons.

import { copyText } from "./clipboard.js";
import { compared, entitiesOf } from "./difference.js";
import { DocumentView } from "./document_view.js";
import { badge, byId, element } from "./elements.js";
import { conll } from "./formats.js";

const LABEL_NAMES = { PER: "person", LOC: "place", ORG: "organization", MISC: "other name" };
const COPIED_MILLISECONDS = 1600;
const LEAST_VISIBLE = 160; // pixels of the card; with fewer the page scrolls to it

export class ResultCard {
  #card = byId("result");
  #document;
  #result = null;
  #answer = null;
  #selected = null;

  constructor(onSelect) {
    this.#document = new DocumentView(byId("document"), onSelect);
    byId("views").addEventListener("change", () => this.#showView());
    byId("copy-json").addEventListener("click", () => this.#copy("copy-json", this.#json()));
    byId("copy-conll").addEventListener("click", () => this.#copy("copy-conll", this.#conll()));
  }

  // `answer` is what the server sent, to be copied as JSON.
  show(result, answer) {
    this.#result = result;
    this.#answer = answer;
    this.#card.hidden = false;
    this.#card.classList.remove("outdated");
    byId("views").hidden = !result.compares;
    byId("summary").textContent = summaryOf(result);
    byId("announcer").textContent = summaryOf(result);
    this.#showView();
    const isBelow = this.#card.getBoundingClientRect().top > window.innerHeight - LEAST_VISIBLE;
    if (isBelow) this.#card.scrollIntoView({ block: "start" });
  }

  set running(isRunning) {
    this.#card.classList.toggle("running", isRunning);
    this.#card.setAttribute("aria-busy", String(isRunning));
  }

  // The text was edited after it was labeled.
  set outdated(isOutdated) {
    this.#card.classList.toggle("outdated", isOutdated);
  }

  select(entity) {
    this.#selected = entity;
    this.#document.select(entity);
  }

  focus() {
    this.#document.focus();
  }

  get #view() {
    return this.#result.compares
      ? byId("views").querySelector("input:checked").value
      : "adapted";
  }

  #showView() {
    const entities = entitiesOf(this.#result, this.#view);
    const showsStatus = this.#view === "difference" && this.#result.compares;
    this.#document.show(this.#result, entities, { showsStatus });
    this.#document.select(this.#selected);
    byId("status-legend").hidden = !showsStatus || entities.length === 0;
    byId("label-legend").replaceChildren(...labelLegend(entities, this.#view));
  }

  #json() {
    return `${JSON.stringify(this.#answer.results[0], null, 2)}\n`;
  }

  #conll() {
    return conll(this.#result, this.#view === "plain" ? this.#result.plain : this.#result.adapted);
  }

  async #copy(id, text) {
    const button = byId(id);
    const name = button.dataset.name ?? button.textContent;
    button.dataset.name = name;
    const outcome = await copyText(text).then(
      () => "Copied",
      () => "Not allowed",
    );
    button.textContent = outcome;
    byId("announcer").textContent = outcome;
    setTimeout(() => (button.textContent = name), COPIED_MILLISECONDS);
  }
}

function summaryOf(result) {
  const nEntities = result.adapted.length;
  const found = `${nEntities || "No"} ${nEntities === 1 ? "entity" : "entities"}`;
  const nSentences = result.sentences.length;
  const where = `${nSentences} ${nSentences === 1 ? "sentence" : "sentences"}`;
  if (!result.compares) return `${found} in ${where}`;
  const entities = compared(result);
  if (entities.length === 0) return `${found} in ${where}, with and without adaptation`;
  const nChanged = entities.filter((entity) => entity.status !== "both").length;
  return `${found} in ${where}, ${nChanged || "none"} changed by adaptation`;
}

// In the difference, entities that only the plain reading has are not counted.
function labelLegend(entities, view) {
  const counts = new Map();
  for (const { label, status } of entities) {
    const counted = view === "difference" && status === "plain" ? 0 : 1;
    counts.set(label, (counts.get(label) ?? 0) + counted);
  }
  return [...counts].sort().map(([label, count]) => {
    const name = LABEL_NAMES[label] ?? "";
    return element("li", {}, badge(label), ` ${name} × ${count}`);
  });
}
