type Schema = Record<string, unknown>;

interface Document {
  paths?: object;
  components?: { schemas?: Record<string, Schema> };
}

/**
 * One component a schema. The generator makes two of each, for input and for output, and uses one: the other goes, and
 * the one that is used gets the plain name. Answers lose `additionalProperties: false`, since fields may be added.
 */
export function oneSchemaEach<D extends object>(given: D): D {
  const schemas = (given as Document).components?.schemas ?? {};
  let text = JSON.stringify(given);
  const isUsed = (name: string): boolean => text.includes(`"#/components/schemas/${name}"`);
  const kept: Record<string, Schema> = {};
  for (const name of Object.keys(schemas)) {
    const output = schemas[name];
    if (name.endsWith('Input') || output === undefined) continue;
    const { additionalProperties: _, ...open } = output;
    kept[name] = isUsed(name) ? open : (schemas[`${name}Input`] ?? output);
    text = text.replaceAll(`"#/components/schemas/${name}Input"`, `"#/components/schemas/${name}"`);
  }
  const document = JSON.parse(text) as D & Document;
  return { ...document, components: { ...document.components, schemas: kept } };
}
