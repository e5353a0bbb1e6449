// Sets the color theme before the page is painted: the reader's choice, else the system's.
"use strict";

(() => {
  const KEY = "metacross-theme";
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");

  function stored() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // storage is switched off: follow the system
    }
  }

  function store(theme) {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // storage is switched off: the choice lasts until the page is closed
    }
  }

  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

  const theme = stored();
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const show = () => button.setAttribute("aria-pressed", String(isDark()));
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      store(root.dataset.theme);
      show();
    });
    system.addEventListener("change", show);
    show();
  });
})();
