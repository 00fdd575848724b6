// The names and labels in a graph. They say the same as explain/svg.py does in files.

import { shortened, shown } from "./wording.js";

const LETTER = 6.6; // pixels
const [NAME_LINE, NAME_LINES, SIDE_NAME] = [16, 3, 36]; // letters, lines, letters

export function drawLabel(group, edge) {
  const more = edge.more ? ` (+${edge.more} more)` : "";
  const length = Math.abs(edge.curve[6] - edge.curve[0]); // from end to end
  const room = Math.max(Math.floor(length / LETTER), 20) - more.length;
  const [x, y] = edge.label;
  group
    .append("text")
    .attr("x", x)
    .attr("y", y - 2)
    .text(shortened(shown(edge.predicate), room) + more);
  group
    .append("text")
    .attr("class", "when")
    .attr("x", x)
    .attr("y", y + 11)
    .text(shown(edge.date));
}

export function drawNode(group, node, nodes, edges) {
  group.append("title").text(shown(node.about ?? node.name));
  group.append("circle").attr("cx", node.x).attr("cy", node.y).attr("r", node.radius);
  if (node.role === "bystander" || node.role === "periphery") {
    nameBeside(group, node, nodes, edges);
  } else {
    nameBelow(group, node);
  }
}

function nameBelow(group, node) {
  const x = node.x + ({ subject: node.radius, object: -node.radius }[node.role] ?? 0);
  const text = group
    .append("text")
    .attr("class", "name")
    .attr("y", node.y + node.radius + 14);
  wrapped(node.name).forEach((line, index) =>
    text
      .append("tspan")
      .attr("x", x)
      .attr("dy", index ? 13 : 0)
      .text(line),
  );
}

// The name and its fact beside the node, on the side away from the node it is connected to.
function nameBeside(group, node, nodes, edges) {
  const edge = edges.find(({ source, target }) => source === node.id || target === node.id);
  const other = nodes[edge.source + edge.target - node.id];
  const onLeft = node.x < other.x;
  group.classed(onLeft ? "left" : "right", true);
  if (!node.named) return;
  const x = node.x + (onLeft ? -node.radius - 5 : node.radius + 5);
  const end = ` ${edge.date.split(" · ")[0]}${edge.more ? ` (+${edge.more})` : ""}`;
  const fact = shortened(shown(edge.predicate), Math.max(SIDE_NAME - end.length, 9)) + end;
  group
    .append("text")
    .attr("class", "name")
    .attr("x", x)
    .attr("y", node.y - 1)
    .text(shortened(shown(node.name), SIDE_NAME));
  group
    .append("text")
    .attr("class", "when")
    .attr("x", x)
    .attr("y", node.y + 12)
    .text(fact);
}

// A name in a few short lines; its end is cut if it is too long.
function wrapped(name) {
  const lines = [];
  for (let word of shown(name).split(/\s+/).filter(Boolean)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < NAME_LINE) {
      lines[lines.length - 1] = `${last} ${word}`;
      continue;
    }
    for (; word.length > NAME_LINE; word = word.slice(NAME_LINE)) {
      lines.push(word.slice(0, NAME_LINE));
    }
    lines.push(word);
  }
  if (lines.length > NAME_LINES) {
    lines[NAME_LINES - 1] = shortened(lines.slice(NAME_LINES - 1).join(" "), NAME_LINE);
  }
  return lines.slice(0, NAME_LINES);
}
