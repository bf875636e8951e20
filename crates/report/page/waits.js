// The regions of the summary, places where ranks wait, trust and the times of ranks stand without a script: what is selected is marked in them.

import { alone } from "./numbers.js";
import { NONE } from "./model.js";
import { byId, element } from "./dom.js";

export class Marks {
  constructor(model) {
    this.model = model;
    this.rows = [...document.querySelectorAll("#summary tr[data-region]")];
    this.places = [...document.querySelectorAll("#waits [data-region]")];
    this.note = element("p", { class: "line", id: "waits-line" });
    this.line = element("p", { class: "line", id: "trust-line" });
    byId("waits").append(this.note);
    byId("trust").append(this.line);
    model.listen((changed) => changed.includes("query") && this.markHits());
    model.listen((changed) => changed.some((key) => ["region", "ranks", "values"].includes(key)) && this.draw());
  }

  draw() {
    for (const row of this.rows) row.classList.toggle("selected", Number(row.dataset.region) === this.model.state.region);
    this.drawWaits();
    this.drawTrust();
    const ranks = this.model.rankLabels();
    for (const text of document.querySelectorAll(".dumbbells [data-rank]")) text.classList.toggle("selected", ranks.has(text.dataset.rank));
  }

  markHits() {
    for (const row of document.querySelectorAll("#summary tr[data-region], #waits tr[data-region]")) {
      row.querySelector("th span, th")?.classList.toggle("hit", this.model.isHit(Number(row.dataset.region)));
    }
  }

  drawWaits() {
    const { model } = this;
    const { region } = model.state;
    const ranks = model.rankLabels();
    const waits = (row) => (row.dataset.ranks || "").split(" ").some((rank) => ranks.has(rank));
    const isAt = (row) => region === NONE || Number(row.dataset.region) === region || Number(row.dataset.caller) === region;
    let marked = 0;
    for (const row of this.places) {
      const is = (region !== NONE || ranks.size > 0) && isAt(row) && (!ranks.size || waits(row));
      row.classList.toggle("selected", is);
      marked += is ? 1 : 0;
    }
    const what = [region === NONE ? "" : `in ${model.name(region)}`, ranks.size ? `by ${model.rankText()}` : ""].filter(Boolean).join(" ");
    this.note.textContent = what ? `${marked || "None"} of ${this.places.length} places that are listed: waiting ${what}.` : "";
  }

  drawTrust() {
    const { model } = this;
    const { region } = model.state;
    const { regions, divisor, header } = model;
    if (region === NONE) {
      this.line.textContent = "";
      return;
    }
    const value = alone(regions.value[region] / divisor, regions.below[region] / divisor, regions.above[region] / divisor, regions.mark[region] > 0);
    const shown = header.mode === "off" ? "" : `, compensated ${value}`;
    const trusted = regions.mark[region] ? `not to be trusted: ${model.mark(regions.mark[region])}` : "trusted";
    this.line.textContent = `${model.name(region)}${model.isOfRanks ? ` on ${model.rankText()}` : ""}: measured ${alone(regions.measured[region] / divisor)}${shown}; ${trusted}.`;
  }
}
