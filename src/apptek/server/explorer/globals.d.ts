// What the page has beside its modules: d3, which is vendored without types.
declare var d3: any;
