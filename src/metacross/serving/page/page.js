// Wires the page together: the form asks the server, the card shows its answer, the panel explains.

import { ApiError, get, post, useToken } from "./api.js";
import { byId } from "./elements.js";
import { EntityPanel } from "./entity_panel.js";
import { resultOf, whyOf } from "./result.js";
import { ResultCard } from "./result_card.js";
import { TextForm } from "./text_form.js";

const MOST_NEIGHBORS = 16; // that the server gives

let model = null; // the answer of /v1/model; null until there is one
let request = null; // the AbortController of the request under way
let labeled = null; // {text, language, result}: what the card shows
let selected = null; // the entity that the panel shows
const explanations = new Map(); // position of a sentence -> promise of its counterfactuals

const card = new ResultCard(select);
const panel = new EntityPanel(byId("panel"), close);
const form = new TextForm({ onRun: run, onStop: () => request?.abort(), onEdit: edited });

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && selected) close();
});
loadModel().catch((failure) => {
  byId("model").textContent = "";
  fail(failure);
});

// The name of the model appears when the server has loaded it.
async function loadModel(signal) {
  model = await get("/v1/model", signal);
  const source = `${model.source_sentences.toLocaleString("en")} source sentences`;
  byId("model").textContent = model.name;
  byId("model-detail").textContent = `· ${model.can_adapt ? source : "does not adapt"}`;
}

async function run() {
  request?.abort();
  if (form.text.trim() === "") {
    form.showError("Type or paste a text first, or choose an example.");
    form.focus();
    return;
  }
  const controller = new AbortController();
  request = controller;
  showRunning(true);
  try {
    await label(form.text, form.language, controller.signal);
  } catch (failure) {
    fail(failure);
  } finally {
    if (request === controller) showRunning(false);
  }
}

async function label(text, language, signal) {
  useToken(form.token);
  if (model === null) await loadModel(signal);
  const neighbors = Math.min(model.neighbors, MOST_NEIGHBORS);
  const comparison = model.can_adapt ? { adapt: true, compare: true, neighbors } : {};
  const body = { texts: [text], language, word_offsets: true, ...comparison };
  const answer = await post("/v1/predict", body, signal);
  if (answer.model.version !== model.version) await loadModel(signal); // it was started anew
  labeled = { text, language, result: resultOf(answer) };
  explanations.clear();
  deselect();
  card.show(labeled.result, answer);
  edited();
}

async function select(entity) {
  selected = entity;
  panel.show(labeled.result, entity);
  card.select(entity);
  const { neighbors } = labeled.result.sentences[entity.sentence];
  if (neighbors.length === 0) return;
  try {
    const explanation = await explanationOf(entity.sentence);
    if (selected === entity) panel.showWhy(entity, explanation);
  } catch (failure) {
    explanations.delete(entity.sentence);
    if (selected === entity) panel.showWhyError(failure.message);
  }
}

// The counterfactuals of a sentence; the server is asked once.
function explanationOf(position) {
  if (!explanations.has(position)) {
    const { start, end } = labeled.result.sentences[position];
    const text = [...labeled.text].slice(start, end).join("");
    const answer = post("/v1/why", { text, language: labeled.language });
    explanations.set(position, answer.then((why) => whyOf(why, start)));
  }
  return explanations.get(position);
}

function deselect() {
  selected = null;
  card.select(null);
  panel.clear();
}

function close() {
  card.focus();
  deselect();
}

function edited() {
  if (labeled) card.outdated = form.text !== labeled.text || form.language !== labeled.language;
}

function showRunning(isRunning) {
  if (isRunning) form.clearError();
  form.running = isRunning;
  card.running = isRunning;
}

function fail(failure) {
  if (failure.name === "AbortError") return;
  if (!(failure instanceof ApiError)) throw failure;
  form.showError(failure.message);
  if (failure.status === 401) form.askForToken();
}
