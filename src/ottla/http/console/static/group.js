// The grid that moves offsets: columns fill it, a preview shows it, a button does it, another undoes it.
import { ask, element } from "./console.js";

const grid = document.getElementById("grid");
const dialog = document.getElementById("moves");
const said = document.getElementById("moves-said");
const execute = document.getElementById("execute");
let action = null;

const lines = () => [...(grid?.querySelectorAll("tbody tr") ?? [])];
const input = (line) => line.querySelector("input");

grid?.addEventListener("click", (event) => {
  const column = event.target.closest("[data-column]")?.dataset.column;
  if (column) for (const line of lines()) if (line.dataset[column] !== "") input(line).value = line.dataset[column];
});
document.getElementById("apply-shift")?.addEventListener("click", () => {
  const by = Number(document.getElementById("shift").value);
  for (const line of lines()) {
    if (line.dataset.now === "") continue;
    const wanted = Number(line.dataset.now) + by;
    input(line).value = Math.min(Math.max(wanted, Number(line.dataset.first)), Number(line.dataset.end));
  }
});
document.getElementById("restore")?.addEventListener("click", () => {
  for (const line of lines()) input(line).value = line.dataset.now;
});

function show(found) {
  const moves = found.moves.filter((each) => each.before !== each.after);
  document.getElementById("moves-rows").replaceChildren(...moves.map((each) => element("tr", {},
    element("td", { class: "mono name" }, `${each.topic_name}-${each.partition_id}`),
    element("td", { class: "num" }, String(each.before ?? "none")), element("td", { class: "num" }, String(each.after ?? "none")),
    element("td", { class: "num" }, each.before === null || each.after === null ? "" : String(each.after - each.before)))));
  said.textContent = moves.length ? "" : "Nothing would change.";
  said.className = "said";
  execute.disabled = !moves.length;
  dialog.showModal();
}

function fail(error) {
  said.textContent = error.message;
  said.className = "said notice bad";
  document.getElementById("moves-rows").replaceChildren();
  execute.disabled = true;
  if (!dialog.open) dialog.showModal();
}

async function preview(address, body) {
  try {
    show(await ask("POST", address, { ...body, dry_run: true }));
    action = () => ask("POST", address, { ...body, dry_run: false });
  } catch (error) {
    fail(error);
  }
}

document.getElementById("preview")?.addEventListener("click", () => {
  const offsets = lines().filter((line) => input(line).value !== "" && input(line).value !== line.dataset.now).map((line) => (
    { topic_name: line.dataset.topic, partition_id: Number(line.dataset.partition), offset: Number(input(line).value) }));
  preview(grid.dataset.address, { offsets });
});
document.getElementById("undo")?.addEventListener("click", (event) => preview(event.target.dataset.address, {}));
execute.addEventListener("click", async () => {
  execute.disabled = true;
  try {
    await action();
    location.reload();
  } catch (error) {
    fail(error);
  }
});
