/** Values of JSON, as hosts hand them over. */

/** An object of JSON, as a peer sent it. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of a JSON text; the given value where it is none, as a model may write it. */
export function parsedJson(given: unknown): unknown {
  try {
    return typeof given === 'string' ? JSON.parse(given) : given;
  } catch {
    return given;
  }
}

/** An object with another value of a member; the object itself where it is the same. */
export function withMember<T extends object>(object: T, name: keyof T, value: unknown): T {
  return value === object[name] ? object : { ...object, [name]: value };
}

/** Each of a list as it may be shown, replaced or left out; the list itself where nothing changes. */
export async function showEach<T>(
  list: readonly T[],
  show: (item: T, index: number) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const shown = (await Promise.all(list.map(show))).flat() as T[];
  return shown.length === list.length && shown.every((item, index) => item === list[index]) ? list : shown;
}
