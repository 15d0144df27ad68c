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
  owner.after(() => runAll(all));
}

/** Returns the owner of what the tests of the current suite share. */
export function ownerOfSuite(): Owner {
  const ends: (() => Promise<void>)[] = [];
  after(() => runAll(ends));
  return { after: (end) => void ends.push(end) };
}

/** Runs each function and forgets it, because the test runner keeps each hook, with all that it refers to, until the process ends. */
async function runAll(ends: (() => unknown)[]): Promise<void> {
  for (let end = ends.shift(); end; end = ends.shift()) await end();
}
