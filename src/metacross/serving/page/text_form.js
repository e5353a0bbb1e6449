// The form: the text, its language, the examples, the token, and one line for errors.

import { byId, element } from "./elements.js";
import { EXAMPLES } from "./examples.js";
import { LANGUAGES, guessedLanguage } from "./languages.js";

const TEXT_KEY = "metacross-text"; // the text survives a reload of the page

export class TextForm {
  #text = byId("text");
  #language = byId("language");
  #error = byId("error");

  // `onRun` and `onStop` are called when the button is pressed; `onEdit` when the text changes.
  constructor({ onRun, onStop, onEdit }) {
    this.onRun = onRun;
    this.onStop = onStop;
    this.onEdit = onEdit;
    this.#fillLanguages();
    this.#fillExamples();
    this.#text.value = sessionStorage.getItem(TEXT_KEY) ?? "";
    this.#text.addEventListener("input", () => this.#edited());
    this.#language.addEventListener("change", () => this.#showGuess());
    this.#text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.onRun();
    });
    byId("form").addEventListener("submit", (event) => this.#submitted(event));
    this.#edited();
  }

  get text() {
    return this.#text.value;
  }

  // The chosen language, else the guessed one; null if neither is known.
  get language() {
    return this.#language.value || guessedLanguage(this.text);
  }

  get token() {
    return byId("token").value;
  }

  set running(isRunning) {
    byId("run").classList.toggle("stops", isRunning);
    byId("run-label").textContent = isRunning ? "Stop" : "Find entities";
  }

  showError(message) {
    this.#error.textContent = message;
    this.#error.hidden = false;
  }

  clearError() {
    this.#error.hidden = true;
  }

  askForToken() {
    byId("token-field").hidden = false;
    byId("token").focus();
  }

  focus() {
    this.#text.focus();
  }

  #submitted(event) {
    event.preventDefault();
    if (byId("run").classList.contains("stops")) this.onStop();
    else this.onRun();
  }

  #edited() {
    sessionStorage.setItem(TEXT_KEY, this.text);
    this.#showGuess();
    this.onEdit();
  }

  #showGuess() {
    const guess = this.#language.value ? null : guessedLanguage(this.text);
    byId("guess").textContent = guess ? `Guessed: ${LANGUAGES[guess]}` : "";
  }

  #fillLanguages() {
    this.#language.append(element("option", { value: "" }, "Guess by script"));
    for (const [code, name] of Object.entries(LANGUAGES)) {
      this.#language.append(element("option", { value: code }, name));
    }
  }

  #fillExamples() {
    for (const { language, name, text } of EXAMPLES) {
      const button = element("button", { type: "button", class: "example", lang: language }, name);
      button.addEventListener("click", () => {
        this.#text.value = text;
        this.#language.value = language;
        this.#edited();
        this.onRun();
      });
      byId("examples").append(button);
    }
  }
}
