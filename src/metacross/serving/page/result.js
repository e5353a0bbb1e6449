// Reads the server's answers into what the views work with.

// {text, sentences, adapted, plain, compares}: `adapted` and `plain` are lists of entities, the
// same list if the server did not compare.
export function resultOf(answer) {
  const [{ text, sentences, entities, plain_entities: plain }] = answer.results;
  return { text, sentences, adapted: entities, plain: plain ?? entities, compares: Boolean(plain) };
}

// The counterfactuals of a sentence, with offsets in the document.
export function whyOf(answer, sentenceStart) {
  const inDocument = (entity) => ({
    ...entity,
    start: entity.start + sentenceStart,
    end: entity.end + sentenceStart,
  });
  const counterfactuals = answer.counterfactuals.map(({ used, entities }) => ({
    used,
    entities: entities.map(inDocument),
  }));
  return { neighbors: answer.neighbors, counterfactuals };
}
