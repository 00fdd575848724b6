// Exports: the graph as SVG or PNG, the answer as JSON.

const SCALE = 2; // pixels of a PNG per pixel of the drawing

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

// The drawing as it is seen, with its style and without what only the page needs.
async function standalone(svg) {
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
  return {
    text: new XMLSerializer().serializeToString(copy),
    width: Number(width),
    height: Number(height),
  };
}

async function asPng({ text, width, height }) {
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    const picture = new Image(width, height);
    picture.src = address;
    await picture.decode();
    const canvas = Object.assign(document.createElement("canvas"), {
      width: width * SCALE,
      height: height * SCALE,
    });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

export async function exportView(kind, svg, answer, explanation) {
  const name = fileName(explanation, kind);
  if (kind === "json") {
    const text = JSON.stringify({ answer, explanation }, null, 2);
    save(new Blob([text], { type: "application/json" }), name);
    return;
  }
  const drawing = await standalone(svg);
  const asSvg = () => new Blob([drawing.text], { type: "image/svg+xml" });
  save(kind === "svg" ? asSvg() : await asPng(drawing), name);
}
