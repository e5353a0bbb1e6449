// Calls the server. A failure of any kind becomes an ApiError with one line to show; while the
// server loads its model, the call waits.

export class ApiError extends Error {
  // `status` and `code` are those of the answer; 0 and "" if there was none.
  constructor(message, { status = 0, code = "" } = {}) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const SERVER_GONE =
  "The server does not answer. Your text is kept here: start the server again, then try again.";

const RETRY_MILLISECONDS = 1000;

let token = null;

export function useToken(value) {
  token = value || null;
}

export function get(path, signal) {
  return call(path, { method: "GET", signal });
}

export function post(path, body, signal) {
  return call(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
}

async function call(path, options) {
  for (;;) {
    try {
      return await callOnce(path, options);
    } catch (failure) {
      if (failure.code !== "loading") throw failure;
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MILLISECONDS));
    options.signal?.throwIfAborted();
  }
}

async function callOnce(path, options) {
  const headers = { ...options.headers, ...(token && { Authorization: `Bearer ${token}` }) };
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch (failure) {
    if (failure.name === "AbortError") throw failure;
    throw new ApiError(SERVER_GONE);
  }
  const answer = await answerOf(response);
  if (response.ok) return answer;
  const { status } = response;
  throw new ApiError(messageOf(answer, response), { status, code: answer?.error?.code });
}

async function answerOf(response) {
  try {
    return await response.json();
  } catch (failure) {
    if (failure.name === "AbortError") throw failure;
    if (response.ok) throw new ApiError(SERVER_GONE); // it stopped in the middle of its answer
    return null;
  }
}

function messageOf(answer, response) {
  const message = answer?.error?.message;
  return message
    ? `The server answered: ${message}`
    : `The server answered ${response.status} ${response.statusText}`.trim();
}
