// Saving parts of the page as files.

export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function fileName({ subject, object, time }, kind) {
  const words = [subject, object, time].join("-").replaceAll(/[^\p{L}\p{N}-]+/gu, "_");
  return `${words.slice(0, 90)}.${kind}`;
}

// Saves the drawing as displayed, with its style and without interactive parts.
export async function saveDrawing(svg, explanation) {
  const copy = svg.cloneNode(true);
  const [width, height] = copy.getAttribute("viewBox").split(" ").slice(2);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  for (const node of copy.querySelectorAll("[tabindex]")) {
    for (const key of ["tabindex", "role", "aria-label", "aria-haspopup"]) {
      node.removeAttribute(key);
    }
  }
  const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
  const response = await fetch("/explorer/drawing.css");
  style.textContent = await response.text();
  copy.prepend(style);
  const text = new XMLSerializer().serializeToString(copy);
  save(new Blob([text], { type: "image/svg+xml" }), fileName(explanation, "svg"));
}
