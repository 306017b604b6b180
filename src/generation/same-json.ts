/** Whether two values say the same as JSON, whatever the order of members. Members that are undefined are none. */
export function sameJson(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((value, index) => sameJson(value, other[index]));
  }
  const [members, others] = [membersOf(one), membersOf(other)];
  if (members.size !== others.size) return false;
  return [...members].every(([key, value]) => others.has(key) && sameJson(value, others.get(key)));
}

function membersOf(value: object): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(value).filter(([, member]) => member !== undefined));
}
