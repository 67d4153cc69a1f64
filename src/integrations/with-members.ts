/** An object with other members in the place of its own; of the same class, and with its private ones. */
export function withMembers<O extends object>(object: O, members: object): O {
  return new Proxy(object, {
    get(target, name) {
      if (Object.hasOwn(members, name)) return Reflect.get(members, name);
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
    set: (target, name, value) => Reflect.set(Object.hasOwn(members, name) ? members : target, name, value),
  });
}
