// The form for a supposed fact.

import { predicates } from "./api.js";
import { Combobox } from "./combobox.js";
import { byId, el } from "./dom.js";
import { labelled } from "./wording.js";

export class SupposeForm {
  // query(): the question; onSuppose(fact): show the answer with this fact.
  constructor(axis, { query, onSuppose }) {
    this.axis = axis;
    this.query = query;
    const form = byId("suppose-form");
    this.subject = new Combobox(byId("suppose-subject"), { id: "supposed-by", label: "Who" });
    this.object = new Combobox(byId("suppose-object"), { id: "supposed-on", label: "Toward" });
    byId("suppose").addEventListener("click", () => {
      form.hidden = !form.hidden;
      if (!form.hidden) this.fill();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      form.hidden = true;
      onSuppose({
        subject: this.subject.value,
        predicate: byId("supposed-what").value,
        object: this.object.value,
        time: axis.timeless ? "?" : axis.read(byId("supposed-when").value),
      });
    });
  }

  // The default is the pair itself, at the last time that counts for the answer.
  async fill() {
    const { subject, object, time } = this.query();
    [this.subject.value, this.object.value] = [subject, object];
    const at = this.axis.position(time);
    byId("supposed-when").value = at === null ? this.axis.last : this.axis.text(at - 1);
    byId("supposed-what").focus();
    const known = await predicates();
    const options = known.map(({ name, label }) =>
      el("option", { value: name }, labelled(name, label)),
    );
    byId("predicate-names").replaceChildren(...options);
  }
}
