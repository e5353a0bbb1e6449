// Compares the plain and the adapted reading of a text.
//
// A compared entity has a status: "both", "adapted" or "plain", the readings that have it.
// `instead` is the plain entity of the same characters if only the label differs. `overlaps` is
// true for a plain entity that shares characters with an adapted one: only one is marked in place.

const spanKey = (entity) => `${entity.start}-${entity.end}`;
const bySpan = (entities) => new Map(entities.map((entity) => [spanKey(entity), entity]));
const byPosition = (a, b) => a.start - b.start || a.end - b.end;

export const overlap = (a, b) => a.start < b.end && b.start < a.end;

export function sameEntity(a, b) {
  return a.start === b.start && a.end === b.end && a.label === b.label;
}

export function compared({ adapted, plain }) {
  const [adaptedBySpan, plainBySpan] = [bySpan(adapted), bySpan(plain)];
  const entities = adapted.map((entity) => {
    const other = plainBySpan.get(spanKey(entity));
    if (other?.label === entity.label) return { ...entity, status: "both" };
    return { ...entity, status: "adapted", instead: other };
  });
  const onlyPlain = plain
    .filter((entity) => !adaptedBySpan.has(spanKey(entity)))
    .map((entity) => ({
      ...entity,
      status: "plain",
      overlaps: adapted.some((other) => overlap(entity, other)),
    }));
  return [...entities, ...onlyPlain].sort(byPosition);
}

// The entities of a view: "plain", "adapted" or "difference".
export function entitiesOf(result, view) {
  if (view === "difference") return compared(result);
  const [reading, other] =
    view === "adapted" ? [result.adapted, result.plain] : [result.plain, result.adapted];
  const otherBySpan = bySpan(other);
  return reading.map((entity) => ({
    ...entity,
    status: otherBySpan.get(spanKey(entity))?.label === entity.label ? "both" : view,
  }));
}
