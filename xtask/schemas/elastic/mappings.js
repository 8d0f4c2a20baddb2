// mappings.js FOLDER: writes two mappings of an index, and the names of the fields and of the
// objects around them, from the fields of the Elastic Common Schema in the package @elastic/ecs.
const { EcsFlat, EcsVersion } = require("@elastic/ecs");
const { writeFileSync } = require("node:fs");
const { join } = require("node:path");

const folder = process.argv[2];

// What OpenSearch names in another way, or wants a value for that the first document has in
// Elasticsearch.
const TYPES = { flattened: "flat_object", constant_keyword: "keyword" };

// The options that Elastic's own templates take over from a field.
const mapping = (field) => {
  const made = { type: TYPES[field.type] ?? field.type };
  for (const option of ["ignore_above", "scaling_factor", "index", "doc_values"]) {
    if (field[option] !== undefined && made.type !== "flat_object") made[option] = field[option];
  }
  for (const { name, ...other } of field.multi_fields ?? []) {
    (made.fields ??= {})[name] = mapping(other);
  }
  return made;
};

const properties = {};
const names = new Set();
for (const [name, field] of Object.entries(EcsFlat).sort(([a], [b]) => (a < b ? -1 : 1))) {
  const path = name.split(".");
  path.forEach((_, at) => names.add(path.slice(0, at + 1).join(".")));
  let within = properties;
  for (const object of path.slice(0, -1)) {
    within = (within[object] ??= { properties: {} }).properties ??= {};
  }
  const last = path.at(-1);
  within[last] = { ...within[last], ...mapping(field) };
}

// From the templates that elastic/ecs generates.
const dynamic_templates = [
  {
    strings_as_keyword: {
      match_mapping_type: "string",
      mapping: { ignore_above: 1024, type: "keyword" },
    },
  },
];
const common = { date_detection: false, dynamic_templates };
const mappings = {
  // As it is published: an unknown field is added to the mapping.
  published: { ...common, properties },
  // A field that is no field of the schema and no label is refused.
  strict: {
    ...common,
    dynamic: "strict",
    properties: { ...properties, labels: { type: "object", dynamic: true } },
  },
};
for (const [name, value] of Object.entries(mappings)) {
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(value));
}
writeFileSync(join(folder, "names.txt"), [...names].join("\n") + "\n");
console.log(`ECS ${EcsVersion}: ${Object.keys(EcsFlat).length} fields`);
