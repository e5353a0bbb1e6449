// Makes elements. Text only ever enters the page as text, never as markup.

export const byId = (id) => document.getElementById(id);

export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children); // strings become text nodes
  return node;
}

// The type of an entity as a small badge.
export function badge(label) {
  return element("b", { class: "badge", "data-label": label, dir: "ltr" }, label);
}

export const scoreText = (score) => score.toFixed(2);

// A thin bar that shows a number between 0 and 1 which stands beside it as text.
export function bar(value) {
  const fill = element("span");
  fill.style.width = `${100 * Math.min(1, Math.max(0, value))}%`;
  return element("span", { class: "bar", "aria-hidden": "true" }, fill);
}
