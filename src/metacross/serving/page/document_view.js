// Shows a text with its entities marked; arrow keys move between them.

import { overlap, sameEntity } from "./difference.js";
import { badge, element, scoreText } from "./elements.js";

const STATUS = { both: "", adapted: ", only with adaptation", plain: ", only without adaptation" };

export class DocumentView {
  #marks = []; // {node, entity}, in the order of the text
  #container;
  #onSelect;

  constructor(container, onSelect) {
    this.#container = container;
    this.#onSelect = onSelect;
    container.addEventListener("click", (event) => this.#clicked(event));
    container.addEventListener("keydown", (event) => this.#pressed(event));
  }

  // `showsStatus`: whether the marks tell apart what only one of the two readings has.
  show(result, entities, { showsStatus }) {
    this.#marks = [];
    this.#container.classList.toggle("shows-status", showsStatus);
    const points = [...result.text]; // offsets count code points
    const nodes = [];
    let position = 0;
    for (const [i, sentence] of result.sentences.entries()) {
      const inside = entities.filter((entity) => entity.sentence === i);
      nodes.push(points.slice(position, sentence.start).join(""));
      nodes.push(this.#sentence(points, sentence, inside));
      position = sentence.end;
    }
    nodes.push(points.slice(position).join(""));
    this.#container.replaceChildren(...nodes);
    if (this.#marks.length > 0) this.#makeTabStop(this.#marks[0]);
  }

  // Mark an entity as the selected one; null for none.
  select(entity) {
    let selected = null;
    for (const mark of this.#marks) {
      const matches = entity !== null && sameEntity(mark.entity, entity);
      mark.node.setAttribute("aria-pressed", String(matches));
      if (matches) selected = mark;
    }
    for (const node of this.#container.querySelectorAll(".sentence")) {
      node.classList.toggle("current", selected !== null && node.contains(selected.node));
    }
    if (selected) {
      this.#makeTabStop(selected);
      selected.node.scrollIntoView({ block: "nearest" });
    }
  }

  // Return to the entity whose details were closed.
  focus() {
    this.#marks.find(({ node }) => node.tabIndex === 0)?.node.focus();
  }

  #sentence(points, sentence, entities) {
    const node = element("span", { class: "sentence" });
    const placed = entities.filter((entity) => !entity.overlaps);
    let position = sentence.start;
    for (const [i, entity] of placed.entries()) {
      node.append(points.slice(position, entity.start).join(""), this.#mark(entity));
      position = entity.end;
      const next = placed[i + 1];
      for (const other of entities) {
        const isLast = overlap(other, entity) && !(next && overlap(other, next));
        if (other.overlaps && isLast) node.append("\u200a", this.#mark(other));
      }
    }
    node.append(points.slice(position, sentence.end).join(""));
    return node;
  }

  #mark(entity) {
    const node = element("mark", {
      class: "entity",
      role: "button",
      tabindex: "-1",
      "aria-pressed": "false",
      "aria-label": `${entity.text}, ${entity.label}${STATUS[entity.status]}`,
      "data-label": entity.label,
      "data-status": entity.status,
      "data-overlaps": entity.overlaps ? "" : null,
      title: `${entity.label}, score ${scoreText(entity.score)}`,
    });
    node.append(element("span", { class: "words" }, entity.text), badge(entity.label));
    if (entity.instead) {
      node.append(element("s", { class: "badge", dir: "ltr" }, entity.instead.label));
    }
    this.#marks.push({ node, entity });
    return node;
  }

  #clicked(event) {
    const node = event.target.closest(".entity");
    const mark = this.#marks.find((candidate) => candidate.node === node);
    if (mark) this.#onSelect(mark.entity);
  }

  #pressed(event) {
    const i = this.#marks.findIndex(({ node }) => node === event.target);
    if (i < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      this.#onSelect(this.#marks[i].entity);
    } else {
      const target = this.#marks[this.#destination(event.key, i)];
      if (!target) return;
      this.#makeTabStop(target);
      target.node.focus();
    }
    event.preventDefault();
  }

  // The position of the mark that a key leads to; undefined for other keys.
  #destination(key, i) {
    const last = this.#marks.length - 1;
    const [next, previous] = [Math.min(i + 1, last), Math.max(i - 1, 0)];
    const rightToLeft = readsRightToLeft(this.#marks[i].entity.text);
    return {
      ArrowRight: rightToLeft ? previous : next,
      ArrowLeft: rightToLeft ? next : previous,
      ArrowDown: next,
      ArrowUp: previous,
      Home: 0,
      End: last,
    }[key];
  }

  // One mark is reached with Tab, the others with the arrow keys.
  #makeTabStop(mark) {
    for (const { node } of this.#marks) node.tabIndex = node === mark.node ? 0 : -1;
  }
}

function readsRightToLeft(text) {
  return /^\P{L}*[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}]/u.test(text);
}
