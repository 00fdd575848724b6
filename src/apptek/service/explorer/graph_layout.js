// Where things are in a graph: the curves of edges, and the list of further facts at its sides.

const RADII = { bystander: 7, periphery: 5 };
const OUTWARD = { subject: -1, object: 1 }; // the side on which further facts are listed
// That list: how far from its entity, how far below, the height and the width of its rows.
const [ASIDE, BELOW, ROW, TEXT] = [64, 76, 30, 250];

export const withRadius = (node) => ({ ...node, dx: 0, dy: 0, radius: RADII[node.role] ?? 12 });

// Adds nodes and edges for facts near subject or object that no reason cites, and room for them.
export function addPeriphery(nodes, edges, periphery, sheet) {
  for (const side of ["subject", "object"]) {
    const centre = nodes.find((node) => node.role === side) ?? nodes[0];
    const facts = periphery.filter((fact) => fact.side === side);
    const x = centre.x + OUTWARD[side] * ASIDE;
    const above = nodes.filter(
      (node) => (node.x - centre.x) * OUTWARD[side] >= 0 && node.role !== "periphery",
    );
    const top = Math.max(
      ...above.map(({ y, role }) => y + (role === "bystander" ? ROW + 10 : BELOW)),
    );
    for (const [row, fact] of facts.entries()) {
      const inward = fact.object === centre.name;
      const node = withRadius({
        id: nodes.length,
        role: "periphery",
        named: true,
        name: inward ? fact.subject : fact.object,
        x,
        y: top + row * ROW,
        about: `${fact.subject} | ${fact.predicate} | ${fact.object} | ${fact.date}`,
      });
      nodes.push(node);
      const [source, target] = inward ? [node, centre] : [centre, node];
      edges.push({
        source: source.id,
        target: target.id,
        kind: "bystander",
        predicate: fact.predicate,
        date: fact.apart ? `${fact.date} · ${fact.apart}` : fact.date,
        more: 0,
        cited: fact,
        curve: straightCurve(source, target),
      });
      sheet.left = Math.min(sheet.left, side === "subject" ? x - TEXT : x);
      sheet.right = Math.max(sheet.right, side === "object" ? x + TEXT : x);
      sheet.bottom = Math.max(sheet.bottom, node.y + 20);
    }
  }
}

// A straight line as the cubic curve that all edges are, from circle to circle.
function straightCurve(source, target) {
  const [x, y] = [target.x - source.x, target.y - source.y];
  const length = Math.hypot(x, y) || 1;
  const at = (share, shift) => [
    source.x + x * share + (x / length) * shift,
    source.y + y * share + (y / length) * shift,
  ];
  return [
    ...at(0, source.radius + 1),
    ...at(1 / 3, 0),
    ...at(2 / 3, 0),
    ...at(1, -target.radius - 4), // room for the arrow head
  ];
}

// The path of an edge. Each of its points moves with the two nodes as they are dragged.
export function pathOf({ curve }, source, target) {
  const mix = (share, key) => source[key] * (1 - share) + target[key] * share;
  const [a, b, c, d] = [0, 0.3, 0.7, 1].map((share, index) =>
    [curve[2 * index] + mix(share, "dx"), curve[2 * index + 1] + mix(share, "dy")]
      .map((value) => value.toFixed(1))
      .join(" "),
  );
  return `M${a}C${b} ${c} ${d}`;
}
