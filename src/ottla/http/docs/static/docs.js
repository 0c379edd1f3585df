// Draws /openapi.json. Everything that comes from a server is set as text, never as markup.
const MOST_SHOWN = 100000;
const root = document.getElementById("operations");

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function sample(schema, components, depth = 0) {
  if (!schema || depth > 5) return null;
  if (schema.$ref) return sample(components[schema.$ref.split("/").pop()], components, depth + 1);
  if (schema.anyOf) return sample(schema.anyOf.find((each) => each.type !== "null"), components, depth);
  if (schema.enum) return schema.enum[0];
  if (schema.default !== undefined && schema.default !== null) return schema.default;
  if (schema.type === "array") return [sample(schema.items, components, depth + 1)].filter((each) => each !== null);
  if (schema.type === "object") {
    const required = schema.required ?? [];
    const names = Object.keys(schema.properties ?? {}).filter((name) => required.includes(name) || depth === 0);
    return Object.fromEntries(names.map((name) => [name, sample(schema.properties[name], components, depth + 1)]));
  }
  return { string: "", integer: 0, number: 0, boolean: false }[schema.type] ?? null;
}

function field(parameter, value = "") {
  const input = element("input", { name: parameter.name, value, autocomplete: "off" });
  if (parameter.required) input.required = true;
  const label = parameter.description ? `${parameter.name}: ${parameter.description}` : parameter.name;
  return element("label", {}, element("span", {}, label), input);
}

function form(path, method, operation, components, clusterId) {
  const made = element("form", {}, element("p", {}, operation.description ?? ""));
  for (const each of operation.parameters) made.append(field(each, each.name === "cluster_id" ? clusterId : ""));
  const content = operation.requestBody?.content;
  let body = null;
  if (content) {
    const [type] = Object.keys(content);
    body = element("textarea", { rows: 8, spellcheck: "false", "aria-label": "body", "data-type": type });
    body.value = JSON.stringify(sample(content[type].schema, components), null, 2);
    made.append(element("label", {}, element("span", {}, `body (${type})`), body));
  }
  const answer = element("pre", { hidden: "", tabindex: "0", "aria-label": "answer" });
  made.append(element("button", {}, `Send ${method.toUpperCase()}`), answer);
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    answer.hidden = false;
    answer.textContent = "...";
    answer.textContent = await send(path, method, operation, made, body);
  });
  return made;
}

async function send(path, method, operation, made, body) {
  const query = new URLSearchParams();
  for (const each of operation.parameters) {
    const value = made.elements[each.name].value;
    if (each.in === "path") path = path.replace(`{${each.name}}`, encodeURIComponent(value));
    else if (value !== "") query.set(each.name, value);
  }
  const address = query.size ? `${path}?${query}` : path;
  const options = { method: method.toUpperCase() };
  if (body) Object.assign(options, { body: body.value, headers: { "content-type": body.dataset.type } });
  try {
    const response = await fetch(address, options);
    const head = `${options.method} ${address}\n${response.status} ${response.headers.get("content-type") ?? ""}\n\n`;
    return head + (await shown(response));
  } catch (error) {
    return `${options.method} ${address}\n\n${error}`;
  }
}

async function shown(response) {
  if (!response.body) return "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const until = Date.now() + 10000;
  while (text.length < MOST_SHOWN && Date.now() < until) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
  }
  reader.cancel();
  try {
    text = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // a stream, or no JSON: shown as it came
  }
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}\n...` : text;
}

function draw(description, clusterId) {
  root.replaceChildren();
  const components = description.components.schemas;
  for (const { name: tag } of description.tags) {
    const section = element("section", {}, element("h2", {}, tag));
    for (const [path, methods] of Object.entries(description.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        if (!operation.tags.includes(tag)) continue;
        const summary = element("summary", {},
          element("span", { class: "method" }, method.toUpperCase()),
          element("span", { class: "path" }, path),
          element("span", { class: "said" }, operation.summary));
        const details = element("details", { "data-words": `${method} ${path} ${operation.summary} ${tag}`.toLowerCase() }, summary);
        details.addEventListener("toggle", () => {
          if (details.open && details.children.length === 1) details.append(form(path, method, operation, components, clusterId));
        });
        section.append(details);
      }
    }
    root.append(section);
  }
}

document.getElementById("search").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const details of root.querySelectorAll("details")) {
    details.hidden = !words.every((word) => details.dataset.words.includes(word));
  }
  for (const section of root.querySelectorAll("section")) {
    section.hidden = !section.querySelector("details:not([hidden])");
  }
});

const description = await (await fetch("/openapi.json")).json();
let clusterId = "";
try {
  clusterId = (await (await fetch("/v3/clusters")).json()).data[0].cluster_id;
} catch {
  // the cluster is down: its id is typed by hand
}
draw(description, clusterId);
