// What every page does beyond what the server renders. Values are set as text, never as markup.
const root = document.documentElement;

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((each) => each !== null && each !== undefined));
  return made;
}

export async function ask(method, address, body) {
  const options = { method };
  if (body !== undefined) Object.assign(options, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  const response = await fetch(address, options);
  const text = await response.text();
  let found = null;
  try { found = text ? JSON.parse(text) : null; } catch { found = { message: text }; }
  if (!response.ok) throw new Error(found?.detail ?? found?.message ?? `${response.status}`);
  return found;
}

// --- light and dark

function theme(wanted) {
  if (wanted) root.dataset.theme = wanted;
}
try { theme(localStorage.getItem("theme")); } catch { /* no storage: the system's choice holds */ }
document.getElementById("theme")?.addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  theme(dark ? "light" : "dark");
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* not remembered */ }
});

// --- keyboard: / searches, g and a letter goes to a page, ? tells

const help = document.getElementById("keys");
let going = 0;
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog[open]")) return;
  if (Date.now() - going < 1500) {
    going = 0;
    document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`)?.click();
  } else if (event.key === "g") {
    going = Date.now();
  } else if (event.key === "/") {
    const search = document.querySelector("input[type=search]");
    if (search) { event.preventDefault(); search.focus(); search.select(); }
  } else if (event.key === "?") {
    help?.showModal();
  }
});

// --- copying, dialogs, forms that speak REST

document.addEventListener("click", async (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens)?.showModal();
  const closer = event.target.closest("[data-closes]");
  if (closer) closer.closest("dialog").close();
  const copier = event.target.closest("[data-copies]");
  if (copier) {
    const text = copier.closest(".one").querySelector("pre").textContent;
    try { await navigator.clipboard.writeText(text); copier.textContent = "copied"; } catch { getSelection().selectAllChildren(copier.closest(".one").querySelector("pre")); copier.textContent = "selected"; }
    setTimeout(() => { copier.textContent = "copy"; }, 1500);
  }
});

function valueOf(input) {
  if (input.type === "checkbox") return input.checked;
  if (input.value === "" && input.dataset.empty !== "keep") return undefined;
  return input.type === "number" ? Number(input.value) : input.value;
}

document.addEventListener("input", (event) => {
  const typed = event.target.closest("input[data-confirms]");
  if (typed) typed.form.querySelector("button.danger").disabled = typed.value !== typed.dataset.confirms;
});

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.address) return;
  event.preventDefault();
  const said = form.querySelector(".said");
  const button = event.submitter;
  const body = form.dataset.method === "DELETE" ? undefined : {};
  for (const input of form.elements) {
    if (!input.name || input.dataset.confirms) continue;
    const value = valueOf(input);
    if (value !== undefined && body) body[input.name] = value;
  }
  if (button) button.disabled = true;
  try {
    await ask(form.dataset.method, form.dataset.address, body);
    if (form.dataset.then === "reload" || !form.dataset.then) location.reload();
    else location.href = form.dataset.then.replace("{topic_name}", encodeURIComponent(body?.topic_name ?? ""));
  } catch (error) {
    said.textContent = error.message;
    said.className = "said notice bad";
    if (button) button.disabled = false;
  }
});

// --- what lives: parts of a page are fetched again, and put in place of themselves

async function refresh() {
  const parts = [...document.querySelectorAll("[data-live]")];
  if (!parts.length || document.hidden || document.querySelector("dialog[open]") || parts.some((part) => part.contains(document.activeElement))) return;
  const stale = document.getElementById("stale");
  try {
    const response = await fetch(location.href, { headers: { accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    if (!response.ok) throw new Error(fresh.querySelector(".problem")?.textContent ?? response.statusText);
    for (const part of parts) {
      const other = fresh.getElementById(part.id);
      if (other && other.innerHTML !== part.innerHTML) part.replaceChildren(...document.adoptNode(other).childNodes);
    }
    stale.hidden = true;
  } catch (error) {
    stale.textContent = `What you see is from before: ${error.message}. It is looked at again every few seconds.`;
    stale.hidden = false;
  }
}
if (document.querySelector("[data-live]")) setInterval(refresh, 3000);
