import type { Store } from '../../src/model/store.ts';

/** The store members that change nothing. */
const READ_ONLY: ReadonlySet<string | symbol> = new Set([
  'list',
  'hasFolder',
  'identify',
  'now',
  'space',
  'stat',
  'read',
  'walk',
  'presign',
  'readCached',
  'check',
  'quota',
  'isPrivileged',
  'maxPathBytes',
  'state',
  'changeSince',
  'listTrash',
  'findTrashed',
  'measureTrashed',
  'listVersions',
  'readVersion',
  'close',
] satisfies (keyof Store)[]);

/** Reports every call that could change a store. */
export function reportChanges(store: Store, report: (member: string) => void): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function' || READ_ONLY.has(name)) return member;
      return (...parameters: readonly unknown[]) => {
        report(String(name));
        return Reflect.apply(member, target, parameters);
      };
    },
  });
}
