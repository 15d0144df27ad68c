import { computed } from '@preact/signals';
import type { Embedded } from '../../platform/embedded.ts';
import type { Router } from '../../platform/router.ts';
import { createService, readSessionUser, type Service } from '../../platform/service/service.ts';
import type { Urls } from '../../platform/service/urls.ts';
import { type Account, type AccountOptions, createAccount } from './account.ts';
import { createPermissions, type Permissions } from './permissions.ts';
import { withReauth } from './with-reauth.ts';

interface AccessOptions extends Omit<AccountOptions, 'access' | 'isShutOut'> {
  readonly embedded: Embedded;
  readonly router: Router;
}

/** Who uses the page, what they may do, and the service as they have it. */
export interface Access {
  /** Null where there is nobody to be. */
  readonly account: Account | null;
  readonly permissions: Permissions;
  readonly service: Service;
}

export function createAccess({ embedded, router, ...options }: AccessOptions): Access {
  const { access, answer, readOnly: isReadOnly } = embedded;
  const { urls } = options;
  const isShutOut = answer instanceof Error && (answer.isSignInRequired || isBesideFolders(urls));
  let changing = 0;
  const count = (by: number) => {
    changing += by;
  };
  const isBusy = () => changing > 0 || options.isBusy();
  const account = access && createAccount({ ...options, access, isShutOut, isBusy });
  const shown = computed(() => router.route.value.folder);
  const isAnonymous = () => account?.name.value === null;
  const permissions = createPermissions({ isReadOnly, isControlled: account !== null, isAnonymous, shown });
  if (!(answer instanceof Error)) permissions.learn(answer);
  const service = createService(urls);
  const readUser = () => readSessionUser(urls).catch(() => undefined);
  const watched = account && withReauth(service, { account, permissions, shown, count, readUser });
  return { account, permissions, service: watched ?? service };
}

/** Whether the page came for a file whose link was opened, or on the way of signing in, and not for a folder. */
function isBesideFolders(urls: Urls): boolean {
  return /^(file|-)\//.test(urls.routeOf(new URL(window.location.href)).folder);
}
