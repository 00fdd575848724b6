// Pages other than questions: the watch list, an actor, and help.

import { ActorPage } from "./actor.js";
import { byId } from "./dom.js";
import { WatchPage } from "./watch.js";

export class Pages {
  // onChange(state changes): show the page differently.
  constructor(axis, { onAsk, onChange, forecasts }) {
    const watch = new WatchPage(axis, { onAsk, onFilter: onChange });
    const actor = new ActorPage(axis, { onAsk, onChange, forecasts });
    const help = { show: () => null };
    this.pages = { watch, actor, help };
  }

  // Prepares the page named in the address, and returns whether there is one.
  open({ page, subject }) {
    const isOpen = page in this.pages && (page !== "actor" || Boolean(subject));
    byId("list").hidden = !isOpen || page === "help";
    byId("help").hidden = !isOpen || page !== "help";
    return isOpen;
  }

  show(state, signal) {
    return this.pages[state.page].show(state, signal);
  }
}
