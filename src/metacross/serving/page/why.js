// Says which source sentences decide how an entity is labeled, from counterfactuals.
//
// A counterfactual is {used, entities}: the entities after learning from the neighbors `used` only,
// given by their positions. A statement is a list of parts, each a {text}, a {label} or a {neighbor}.

import { overlap } from "./difference.js";

// What a list of entities says about the characters of one.
export function verdict(entity, entities) {
  const exact = entities.find(
    (other) => other.start === entity.start && other.end === entity.end,
  );
  if (exact) return { exact: true, entities: [exact] };
  return { exact: false, entities: entities.filter((other) => overlap(other, entity)) };
}

export function statement(entity, counterfactuals, nNeighbors) {
  const label = { label: entity.label };
  const agreeing = new Set(counterfactuals.filter((counterfactual) => agrees(entity, counterfactual)));
  const plain = counterfactuals.find((counterfactual) => counterfactual.used.length === 0);
  const full = counterfactuals.find((counterfactual) => counterfactual.used.length === nNeighbors);
  if (agreeing.size === counterfactuals.length) {
    return [label, { text: " in every case: no neighbor decides it." }];
  }
  for (let neighbor = 0; neighbor < nNeighbors; neighbor++) {
    const withIt = (counterfactual) => counterfactual.used.includes(neighbor);
    if (counterfactuals.every((counterfactual) => withIt(counterfactual) === agreeing.has(counterfactual))) {
      return [label, { text: " only with " }, { neighbor }, { text: "; without it " }, ...instead(entity, plain)];
    }
    if (counterfactuals.every((counterfactual) => withIt(counterfactual) !== agreeing.has(counterfactual))) {
      return [label, { text: " only without " }, { neighbor }, { text: "; with it " }, ...instead(entity, full)];
    }
  }
  const [when, otherwise] = combination(agreeing, { plain, full, nNeighbors });
  return otherwise
    ? [label, { text: ` ${when} ` }, ...instead(entity, otherwise)]
    : [label, { text: ` ${when}.` }];
}

// No single neighbor decides: when it is labeled so, and the reading that shows what it is else.
function combination(agreeing, { plain, full, nNeighbors }) {
  const [any, all] =
    nNeighbors === 2 ? ["either neighbor", "both neighbors"] : ["any neighbor", "all neighbors"];
  const nAlone = [...agreeing].filter((counterfactual) => counterfactual.used.length === 1).length;
  if (agreeing.has(plain) && !agreeing.has(full)) {
    return agreeing.size === 1
      ? [`only without neighbors; with ${all}`, full]
      : [`until it learns from ${all}; then`, full];
  }
  if (agreeing.has(full) && !agreeing.has(plain)) {
    if (agreeing.size === 1) return [`only with ${all} together; with none`, plain];
    if (nAlone === nNeighbors) return [`with ${any}; with none`, plain];
  }
  return ["depends on the combination of neighbors", null];
}

// What the entity is in another reading, as the end of a statement.
function instead(entity, counterfactual) {
  const { exact, entities } = verdict(entity, counterfactual.entities);
  if (entities.length === 0) return [{ text: "no entity." }];
  const parts = entities.flatMap((other, i) => [
    { text: (i > 0 ? ", " : "") + (exact ? "" : `“${other.text}” `) },
    { label: other.label },
  ]);
  return [...parts, { text: "." }];
}

function agrees(entity, counterfactual) {
  const { exact, entities } = verdict(entity, counterfactual.entities);
  return exact && entities[0].label === entity.label;
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
