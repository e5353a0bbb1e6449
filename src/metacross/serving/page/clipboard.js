// Copies text to the clipboard.

// Browsers offer the clipboard only to https and localhost; elsewhere a selected field is copied.
export async function copyText(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const field = document.createElement("textarea");
  field.className = "unseen";
  field.value = text;
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  if (!copied) throw new Error("this browser does not allow it");
}
