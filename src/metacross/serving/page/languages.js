// Languages to choose from, and a guess by script.

export const LANGUAGES = {
  ar: "Arabic",
  ca: "Catalan",
  zh: "Chinese",
  cs: "Czech",
  da: "Danish",
  nl: "Dutch",
  en: "English",
  fi: "Finnish",
  fr: "French",
  de: "German",
  el: "Greek",
  he: "Hebrew",
  hi: "Hindi",
  hu: "Hungarian",
  id: "Indonesian",
  it: "Italian",
  ja: "Japanese",
  ko: "Korean",
  no: "Norwegian",
  fa: "Persian",
  pl: "Polish",
  pt: "Portuguese",
  ro: "Romanian",
  ru: "Russian",
  es: "Spanish",
  sv: "Swedish",
  th: "Thai",
  tr: "Turkish",
  uk: "Ukrainian",
  vi: "Vietnamese",
};

// In this order: Japanese has Han characters too, Persian and Ukrainian have letters of their own.
const SCRIPTS = [
  ["ja", /[\p{Script=Hiragana}\p{Script=Katakana}]/gu, 0.1],
  ["zh", /\p{Script=Han}/gu, 0.3],
  ["ko", /\p{Script=Hangul}/gu, 0.3],
  ["fa", /[پچژگی]/gu, 0.05],
  ["ar", /\p{Script=Arabic}/gu, 0.3],
  ["he", /\p{Script=Hebrew}/gu, 0.3],
  ["el", /\p{Script=Greek}/gu, 0.3],
  ["hi", /\p{Script=Devanagari}/gu, 0.3],
  ["th", /\p{Script=Thai}/gu, 0.3],
  ["uk", /[іїєґ]/giu, 0.02],
  ["ru", /\p{Script=Cyrillic}/gu, 0.3],
];

const count = (text, pattern) => (text.match(pattern) ?? []).length;

// The most common language of the text's script; null for Latin letters: many languages share them.
export function guessedLanguage(text) {
  const letters = count(text, /\p{L}/gu);
  if (letters === 0) return null;
  const match = SCRIPTS.find(([, pattern, share]) => count(text, pattern) >= share * letters);
  return match ? match[0] : null;
}
