import { after } from 'node:test';

/** The owner of resources, such as a test. Calls the functions given to `after` when it ends. */
export interface Owner {
  after(end: () => Promise<void>): void;
}

const endings = new WeakMap<Owner, (() => unknown)[]>();

/** Calls `end` when its owner has ended, in any way. The functions run in reverse order of registration. */
export function atEnd(owner: Owner, end: () => unknown): void {
  const known = endings.get(owner);
  if (known) return void known.unshift(end);
  const all = [end];
  endings.set(owner, all);
  owner.after(() => callAll(all));
}

/** Returns the owner of what the tests of the current suite share. */
export function ownerOfSuite(): Owner {
  const ends: (() => Promise<void>)[] = [];
  after(() => callAll(ends));
  return { after: (end) => void ends.push(end) };
}

/** Returns an owner that ends with the given one: after all that the given one gets from now on. */
export function ownerWithin(owner: Owner): Owner {
  const ends: (() => Promise<void>)[] = [];
  atEnd(owner, () => callAll(ends));
  return { after: (end) => void ends.push(end) };
}

/**
 * Calls each function and forgets it. The test runner keeps the hook that calls them, and all that it refers to, until the
 * process ends.
 */
async function callAll(ends: (() => unknown)[]): Promise<void> {
  for (let end = ends.shift(); end; end = ends.shift()) await end();
}
