// Changing a setting of a topic.
import { ask } from "./console.js";

const form = document.getElementById("edit-form");
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-setting]");
  if (!opener) return;
  document.getElementById("edit-name").textContent = opener.dataset.setting;
  document.getElementById("edit-value").value = opener.dataset.value;
  form.dataset.address = form.dataset.base + encodeURIComponent(opener.dataset.setting);
});
document.getElementById("edit-reset").addEventListener("click", async () => {
  try {
    await ask("DELETE", form.dataset.address);
    location.reload();
  } catch (error) {
    form.querySelector(".said").textContent = error.message;
  }
});
