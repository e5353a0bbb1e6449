// Writes the entities of a text as CoNLL: a word and its tag per line, sentences apart.

export function conll(result, entities) {
  const points = [...result.text];
  const sentences = result.sentences.map((sentence) => {
    const lines = sentence.words.map(([start, end]) => {
      const word = points.slice(start, end).join("");
      return `${word}\t${tag(start, end, entities)}`;
    });
    return lines.join("\n");
  });
  return sentences.filter((lines) => lines !== "").join("\n\n") + "\n";
}

function tag(start, end, entities) {
  const entity = entities.find((candidate) => candidate.start <= start && end <= candidate.end);
  if (!entity) return "O";
  return `${entity.start === start ? "B" : "I"}-${entity.label}`;
}
