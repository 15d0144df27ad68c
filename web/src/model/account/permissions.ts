import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { ancestorsOf, ROOT } from '../../platform/paths.ts';
import type { Listing } from '../../platform/service/service.ts';

/** A permission in a folder, as the HTTP API names it. */
export type Permission = NonNullable<Listing['rights']>[number];

/**
 * What an action requires: a permission in a folder, or `change`: that the user might be able to add files to some folder.
 * Without a signed-in user, `change` requires the permission to write.
 */
export type RequiredPermission = Permission | 'change';

/** The user's permissions, so that the page offers only permitted actions. The service decides in the end. */
export interface Permissions {
  /** Whether the service rejects all changes. */
  readonly isReadOnly: boolean;
  /** Returns whether the user has a permission in the shown folder. While it loads, the previous folder counts. */
  allows(required: RequiredPermission): boolean;
  /**
   * Returns whether the user has a permission in a folder. A folder that was not listed yet has the permissions of its
   * nearest listed ancestor if these include `write`; otherwise it has all permissions, because a grant for it can exist.
   */
  allowsIn(folder: string, required: RequiredPermission): boolean;
  /** Returns whether the user can probably see versions in a folder: the service has a setting for the permission. */
  seesVersionsIn(folder: string): boolean;
  /** Stores the permissions of a listing. Without access control, listings have none, and everything is permitted. */
  update(listing: Pick<Listing, 'prefix' | 'rights'>): void;
}

interface PermissionsOptions {
  readonly isReadOnly: boolean;
  /** Whether listings contain permissions. Until the first listing, the user then has none. */
  readonly isControlled: boolean;
  /** Whether users can sign in and none has. A user whose session has expired counts: the next change asks for the sign-in. */
  readonly isAnonymous: () => boolean;
  /** The path of the shown folder. */
  readonly shown: ReadonlySignal<string>;
}

export function createPermissions({ isReadOnly, isControlled, isAnonymous, shown }: PermissionsOptions): Permissions {
  const known = signal<ReadonlyMap<string, readonly Permission[]>>(new Map());
  let last: readonly Permission[] = [];
  const current = computed(() => {
    last = known.value.get(shown.value) ?? last;
    return last;
  });

  const includes = (permissions: readonly Permission[], required: RequiredPermission): boolean => {
    if (isReadOnly && required !== 'read') return false;
    if (required === 'change') return !isAnonymous() || permissions.includes('write');
    return !isControlled || permissions.includes(required);
  };
  const inherited = (folder: string): readonly Permission[] | undefined => {
    const ancestors = [ROOT, ...ancestorsOf(folder)].slice(0, folder === ROOT ? 0 : -1);
    const listed = ancestors.toReversed().map((path) => known.value.get(path));
    const nearest = listed.find((permissions) => permissions !== undefined);
    return nearest?.includes('write') ? nearest : undefined;
  };

  const permissionsIn = (folder: string) => known.value.get(folder) ?? inherited(folder) ?? ALL;

  return {
    isReadOnly,
    allows: (required) => includes(current.value, required),
    allowsIn: (folder, required) => includes(permissionsIn(folder), required),
    seesVersionsIn(folder) {
      const permissions = permissionsIn(folder);
      const canChange = permissions.includes('write') || permissions.includes('manage');
      return !isControlled || (canChange && !isAnonymous());
    },
    update({ prefix, rights }) {
      if (rights === undefined || known.peek().get(prefix)?.join() === rights.join()) return;
      known.value = new Map(known.peek()).set(prefix, rights);
    },
  };
}

const ALL: readonly Permission[] = ['read', 'write', 'manage'];
