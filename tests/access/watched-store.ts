import type { Store } from '../../src/domain/store.ts';

/** The members of a store that change nothing. */
const LOOKS: ReadonlySet<string | symbol> = new Set([
  'list',
  'stat',
  'read',
  'walk',
  'presign',
  'atHand',
  'check',
  'quota',
  'isPrivileged',
  'close',
] satisfies (keyof Store)[]);

/** Tells of every call that could change something in a store. */
export function watchStore(store: Store, tell: (member: string) => void): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function' || LOOKS.has(name)) return member;
      return (...parameters: readonly unknown[]) => {
        tell(String(name));
        return Reflect.apply(member, target, parameters);
      };
    },
  });
}
