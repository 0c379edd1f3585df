// The message browser: values that open, a live tail, and writing.
import { ask, element } from "./console.js";

const MOST = 500;
const rows = document.getElementById("records");
const live = document.getElementById("live");
let source = null;

rows.addEventListener("click", (event) => {
  if (!getSelection().toString()) event.target.closest("tr")?.classList.toggle("open");
});

function shown(record, name) {
  if (`${name}_base64` in record) return record[`${name}_base64`];
  if (record[name] === null) return null;
  try { return JSON.stringify(JSON.parse(record[name]), null, 2); } catch { return record[name]; }
}

function cell(text, name) {
  return text === null ? element("span", { class: "null" }, "null") : element("div", { class: name }, text);
}

function row(record) {
  const headers = record.headers.map((each) => `${each.name}=${each.value ?? each.value_base64 ?? "null"}`).join(" ");
  return element("tr", { class: "record fresh" },
    element("td", {}, String(record.partition)), element("td", {}, String(record.offset)),
    element("td", { class: "hide-small" }, new Date(record.timestamp).toISOString()),
    element("td", { class: "key" }, cell(record.key === undefined ? record.key_base64 : record.key, "")),
    element("td", {}, cell(shown(record, "value"), "value"), headers ? element("span", { class: "sub" }, headers) : null));
}

function stop() {
  source?.close();
  source = null;
  live.setAttribute("aria-pressed", "false");
  live.textContent = "Live";
}

live.addEventListener("click", () => {
  if (source) return stop();
  const query = new URLSearchParams(new FormData(document.getElementById("where")));
  for (const name of ["offset", "timestamp", "limit", "cluster"]) query.delete(name);
  for (const [name, value] of [...query]) if (!value) query.delete(name);
  source = new EventSource(`${live.dataset.address}&${query}`);
  live.setAttribute("aria-pressed", "true");
  live.textContent = "Pause";
  source.addEventListener("message", (event) => {
    document.getElementById("none")?.remove();
    rows.prepend(row(JSON.parse(event.data)));
    while (rows.children.length > MOST) rows.lastElementChild.remove();
  });
  source.addEventListener("problem", (event) => { stop(); alert(JSON.parse(event.data).detail); });
});

document.getElementById("produce-form")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const said = form.querySelector(".said");
  const text = (value) => (value === "" ? null : { type: "STRING", data: value });
  const headers = form.elements.headers.value.split(",").filter((each) => each.includes("=")).map((each) => {
    const [name, ...value] = each.trim().split("=");
    return { name, value: btoa(String.fromCharCode(...new TextEncoder().encode(value.join("=")))) };
  });
  const record = { key: text(form.elements.key.value), value: text(form.elements.value.value), headers };
  if (form.elements.partition.value) record.partition_id = Number(form.elements.partition.value);
  try {
    const report = await ask("POST", form.dataset.path, record);
    if (report.error_code !== 200) throw new Error(report.message);
    said.textContent = `Written to partition ${report.partition_id} at offset ${report.offset}.`;
    said.className = "said notice good";
  } catch (error) {
    said.textContent = error.message;
    said.className = "said notice bad";
  }
});
