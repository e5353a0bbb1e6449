// Shows the details of an entity: scores, the source sentences it learned from, and why.

import { badge, bar, element, scoreText } from "./elements.js";
import { quoteOf, statement, verdict } from "./why.js";

export class EntityPanel {
  #panel;
  #onClose;

  constructor(panel, onClose) {
    this.#panel = panel;
    this.#onClose = onClose;
  }

  // The section "Why" waits for `showWhy` or `showWhyError`.
  show(result, entity) {
    const { neighbors } = result.sentences[entity.sentence];
    const sections = [this.#head(entity), readingList(result, entity)];
    if (neighbors.length > 0) sections.push(whySection(), learnedFrom(neighbors));
    this.#entity.replaceChildren(...sections);
    this.#setOpen(true);
  }

  clear() {
    this.#setOpen(false);
    this.#entity.replaceChildren();
  }

  // `explanation` is {neighbors, counterfactuals}.
  showWhy(entity, explanation) {
    const { neighbors, counterfactuals } = explanation;
    const line = element("p", { class: "statement" });
    for (const part of statement(entity, counterfactuals, neighbors.length)) {
      line.append(...statementNodes(part, neighbors, entity.label));
    }
    this.#fillWhy(line, counterfactualTable(entity, explanation));
  }

  showWhyError(message) {
    this.#fillWhy(element("p", { class: "error" }, message));
  }

  get #entity() {
    return this.#panel.querySelector(".panel-entity");
  }

  #setOpen(isOpen) {
    this.#panel.classList.toggle("open", isOpen);
    this.#panel.scrollTop = 0;
  }

  #fillWhy(...nodes) {
    const body = this.#panel.querySelector(".why .body");
    body.removeAttribute("aria-busy");
    body.replaceChildren(...nodes);
  }

  #head(entity) {
    const attributes = { type: "button", class: "quiet close", "aria-label": "Close" };
    const close = element("button", attributes, "×");
    close.addEventListener("click", () => this.#onClose());
    return element(
      "div",
      { class: "panel-head" },
      element("h2", { dir: "auto" }, entity.text),
      badge(entity.label),
      close,
    );
  }
}

// How each of the two readings labels the characters of the entity.
function readingList(result, entity) {
  if (!result.compares) {
    const score = row("Score", { entities: [entity], exact: true });
    return element("dl", { class: "readings" }, ...score);
  }
  return element(
    "dl",
    { class: "readings" },
    ...row("Adapted", verdict(entity, result.adapted)),
    ...row("Plain", verdict(entity, result.plain)),
  );
}

function row(name, found) {
  const value = element("dd", {}, ...verdictNodes(found));
  if (found.exact) value.append(bar(found.entities[0].score));
  return [element("dt", {}, name), value];
}

function verdictNodes({ exact, entities }) {
  if (entities.length === 0) return [element("span", { class: "hint" }, "no entity")];
  return entities.map((entity) => {
    const words = exact ? [] : [element("q", { dir: "auto" }, entity.text), " "];
    const score = element("span", { class: "number" }, scoreText(entity.score));
    return element("span", { class: "verdict" }, ...words, badge(entity.label), " ", score);
  });
}

function learnedFrom(neighbors) {
  const list = element("ol", { class: "neighbors" });
  for (const [i, neighbor] of neighbors.entries()) {
    const similarity = element(
      "span",
      { class: "similarity" },
      bar(neighbor.similarity),
      element("span", { class: "number" }, scoreText(neighbor.similarity)),
      element("span", { class: "unseen" }, " similarity"),
    );
    if (neighbor.remembered) {
      similarity.append(element("span", { class: "remembered" }, "remembered correction"));
    }
    const chip = element("span", { class: "chip", "aria-hidden": "true" }, String(i + 1));
    list.append(element("li", {}, chip, sourceText(neighbor), similarity));
  }
  return element(
    "section",
    { "aria-labelledby": "learned-from" },
    element("h3", { id: "learned-from" }, "Learned from"),
    element("p", { class: "hint" }, "The most similar labeled sentences, by cosine."),
    list,
  );
}

function sourceText(neighbor) {
  if (!neighbor.text) {
    const text = `Source sentence ${neighbor.position}; its text is private on this server.`;
    return element("p", { class: "hint" }, text);
  }
  const points = [...neighbor.text];
  const node = element("p", { class: "source", dir: "auto" });
  let position = 0;
  for (const span of neighbor.spans) {
    const words = points.slice(span.start_char, span.end_char).join("");
    const mark = element("mark", { class: "entity", "data-label": span.label });
    mark.append(element("span", { class: "words" }, words), badge(span.label));
    node.append(points.slice(position, span.start_char).join(""), mark);
    position = span.end_char;
  }
  node.append(points.slice(position).join(""));
  return node;
}

function whySection() {
  return element(
    "section",
    { class: "why", "aria-labelledby": "why-title" },
    element("h3", { id: "why-title" }, "Why"),
    element(
      "div",
      { class: "body", role: "status", "aria-busy": "true" },
      element("p", { class: "hint waiting" }, "Labeling it without each of its neighbors…"),
    ),
  );
}

function statementNodes(part, neighbors, label) {
  if (part.label !== undefined) return [badge(part.label)];
  if (part.neighbor === undefined) return [part.text];
  const number = element("span", { class: "chip" }, String(part.neighbor + 1));
  const quote = quoteOf(neighbors[part.neighbor], label);
  return quote ? [number, " ", element("em", { dir: "auto" }, quote)] : ["neighbor ", number];
}

function counterfactualTable(entity, { counterfactuals, neighbors }) {
  const body = element("tbody");
  for (const { used, entities } of counterfactuals) {
    const heading = element("th", { scope: "row" }, ...setNodes(used, neighbors.length));
    const cell = element("td", {}, ...verdictNodes(verdict(entity, entities)));
    body.append(element("tr", {}, heading, cell));
  }
  const head = element(
    "tr",
    {},
    element("th", { scope: "col" }, "Learns from"),
    element("th", { scope: "col" }, "Labels it"),
  );
  return element("table", { class: "counterfactuals" }, element("thead", {}, head), body);
}

// The neighbors of a reading as numbered chips, the missing ones hollow.
function setNodes(included, nNeighbors) {
  const chips = [...Array(nNeighbors).keys()].map((i) => {
    const kind = included.includes(i) ? "chip" : "chip hollow";
    return element("span", { class: kind, "aria-hidden": "true" }, String(i + 1));
  });
  return [...chips, element("span", { class: "set-name" }, setName(included, nNeighbors))];
}

function setName(included, nNeighbors) {
  if (included.length === 0) return "none";
  if (included.length === nNeighbors) return { 1: "its neighbor", 2: "both" }[nNeighbors] ?? "all";
  if (included.length === 1) return `only ${included[0] + 1}`;
  const missing = [...Array(nNeighbors).keys()].filter((i) => !included.includes(i));
  return missing.length === 1 ? `all but ${missing[0] + 1}` : included.map((i) => i + 1).join(", ");
}
