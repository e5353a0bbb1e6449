// Says which source sentences decide how an entity is labeled, from counterfactuals.
//
// A counterfactual is {used, entities}: the entities after learning from the neighbors `used` only,
// given by their positions. A statement is a list of parts: {text}, {label} or {neighbor}.

import { overlap } from "./difference.js";

// What a list of entities says about the characters of one.
export function verdict(entity, entities) {
  const exact = entities.find(({ start, end }) => start === entity.start && end === entity.end);
  if (exact) return { exact: true, entities: [exact] };
  return { exact: false, entities: entities.filter((other) => overlap(other, entity)) };
}

export function statement(entity, counterfactuals, nNeighbors) {
  const cases = counterfactuals.map(({ used, entities }) => ({
    used,
    verdict: verdict(entity, entities),
    agrees: agrees(entity, entities),
  }));
  const plain = cases.find(({ used }) => used.length === 0);
  const full = cases.find(({ used }) => used.length === nNeighbors);
  if (cases.every((each) => each.agrees)) {
    return [{ label: entity.label }, { text: " in every case: no neighbor decides it." }];
  }
  const extremes = { plain, full, nNeighbors };
  const parts = oneDecides(cases, extremes) ?? severalDecide(cases, extremes);
  const hasOtherSpans = cases.some(({ verdict: { exact, entities } }) => !exact && entities.length);
  const words = hasOtherSpans ? [{ text: `“${entity.text}” ` }] : [];
  return [...words, { label: entity.label }, ...parts, { text: "." }];
}

// The label is there with one neighbor and not without it, or the other way round.
function oneDecides(cases, { plain, full, nNeighbors }) {
  for (let neighbor = 0; neighbor < nNeighbors; neighbor++) {
    if (cases.every(({ used, agrees }) => used.includes(neighbor) === agrees)) {
      return [{ text: " only with " }, { neighbor }, { text: "; without it " }, ...said(plain)];
    }
    if (cases.every(({ used, agrees }) => used.includes(neighbor) !== agrees)) {
      return [{ text: " only without " }, { neighbor }, { text: "; with it " }, ...said(full)];
    }
  }
  return null;
}

function severalDecide(cases, { plain, full, nNeighbors }) {
  const [any, all] =
    nNeighbors === 2 ? ["either neighbor", "both neighbors"] : ["any neighbor", "all neighbors"];
  const agreeing = cases.filter((each) => each.agrees);
  if (full.agrees && agreeing.length === 1) {
    return [{ text: ` only with ${all} together; with none ` }, ...said(plain)];
  }
  if (plain.agrees && agreeing.length === 1) {
    return [{ text: ` only without neighbors; with ${all} ` }, ...said(full)];
  }
  if (!plain.agrees && agreeing.length === cases.length - 1) {
    return [{ text: ` with ${any}; with none ` }, ...said(plain)];
  }
  if (!full.agrees && agreeing.length === cases.length - 1) {
    return [{ text: ` unless it learns from ${all}; then ` }, ...said(full)];
  }
  return [{ text: " depends on which neighbors come together" }];
}

// What another case says instead.
function said({ verdict: { exact, entities } }) {
  if (entities.length === 0) return [{ text: "no entity" }];
  return entities.flatMap(({ text, label }, i) => [
    { text: (i > 0 ? ", " : "") + (exact ? "" : `“${text}” `) },
    { label },
  ]);
}

function agrees(entity, entities) {
  const { exact, entities: found } = verdict(entity, entities);
  return exact && found[0].label === entity.label;
}

// A few words to recognize a source sentence by; null if the server keeps it private.
export function quoteOf(neighbor, label) {
  if (!neighbor.text) return null;
  const points = [...neighbor.text];
  const span = neighbor.spans.find((candidate) => candidate.label === label) ?? neighbor.spans[0];
  if (span) return points.slice(span.start_char, span.end_char).join("");
  const words = neighbor.text.split(" ");
  return words.length > 5 ? `${words.slice(0, 4).join(" ")} …` : neighbor.text;
}
