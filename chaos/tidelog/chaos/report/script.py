"""Script of a report: a cross-hair with words, a filter of the diary. Pure.

Without scripts nothing is missing but these. The text holds no `<` and no `&`: the page stays XML.
"""

from __future__ import annotations

SCRIPT = """
(function () {
  "use strict";
  var told = document.getElementById("moments");
  var moments = told ? JSON.parse(told.textContent) : [];
  var tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.appendChild(tip);

  function nearest(at) {
    var low = 0, high = moments.length - 1;
    while (high - low > 1) {
      var middle = (low + high) >> 1;
      if (moments[middle][0] > at) { high = middle; } else { low = middle; }
    }
    return at - moments[low][0] > moments[high][0] - at ? moments[high] : moments[low];
  }

  function place(event) {
    var left = event.clientX + 18, top = event.clientY + 14;
    if (left + tip.offsetWidth > window.innerWidth - 8) {
      left = event.clientX - tip.offsetWidth - 18;
    }
    if (top + tip.offsetHeight > window.innerHeight - 8) {
      top = window.innerHeight - tip.offsetHeight - 8;
    }
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = Math.max(8, top) + "px";
  }

  Array.from(document.querySelectorAll("svg.figure")).forEach(function (figure) {
    var plot = figure.dataset.plot.split(" ").map(Number);
    var cross = figure.querySelector(".cross");
    function hide() { tip.hidden = true; cross.setAttribute("d", "M0 0"); }
    figure.addEventListener("pointerleave", hide);
    figure.addEventListener("pointermove", function (event) {
      var box = figure.getBoundingClientRect();
      var x = (event.clientX - box.left) * figure.viewBox.baseVal.width / box.width;
      if (plot[2] > x || x > plot[3] || !moments.length) { hide(); return; }
      var at = plot[0] + (plot[1] - plot[0]) * (x - plot[2]) / (plot[3] - plot[2]);
      cross.setAttribute("d", "M" + x.toFixed(1) + " " + plot[4] + "V" + plot[5]);
      tip.textContent = nearest(at).slice(1).join("\\n");
      tip.hidden = false;
      place(event);
    });
  });

  Array.from(document.querySelectorAll("table.filtered")).forEach(function (table) {
    var rows = Array.from(table.tBodies[0].rows);
    var field = document.createElement("input"), count = document.createElement("span");
    field.type = "search";
    field.placeholder = "Filter, for example: leader";
    field.setAttribute("aria-label", "Filter these lines");
    count.className = "soft";
    table.before(field, count);
    field.addEventListener("input", function () {
      var wanted = field.value.toLowerCase(), shown = 0;
      rows.forEach(function (row) {
        row.hidden = row.textContent.toLowerCase().indexOf(wanted) === -1;
        shown += row.hidden ? 0 : 1;
      });
      count.textContent = wanted ? shown + " of " + rows.length + " lines" : "";
    });
  });

  window.addEventListener("beforeprint", function () {
    Array.from(document.querySelectorAll("details")).forEach(function (one) { one.open = true; });
  });
})();
"""
