/** A schema as JSON: as it is, by its own method (Zod 4), or all strings in it (Zod 3). */
export function readSchema(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null || Object.getPrototypeOf(schema) === Object.prototype)
    return schema;
  if ('toJSONSchema' in schema && typeof schema.toJSONSchema === 'function') {
    return schema.toJSONSchema({ unrepresentable: 'any', io: 'input' });
  }
  return stringsIn(schema, new Set());
}

function stringsIn(value: unknown, seen: Set<unknown>): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null || seen.has(value)) return [];
  seen.add(value);
  const { description, _def, _zod } = value as { description?: unknown; _def?: object; _zod?: { def?: object } };
  const members = Object.entries(_def ?? _zod?.def ?? value).map(([name, member]) =>
    // A shape may be made when it is first asked for.
    typeof member === 'function' && (name === 'shape' || name === 'getter') ? member() : member,
  );
  return [description, ...members].flatMap((member) => stringsIn(member, seen));
}
