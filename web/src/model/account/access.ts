import { computed } from '@preact/signals';
import type { Embedded } from '../../platform/embedded.ts';
import type { Router } from '../../platform/router.ts';
import { createService, readSessionUser, type Service } from '../../platform/service/service.ts';
import type { Urls } from '../../platform/service/urls.ts';
import { type Account, type AccountOptions, createAccount } from './account.ts';
import { createPermissions, type Permissions } from './permissions.ts';
import { withReauth } from './with-reauth.ts';

interface AccessOptions extends Omit<AccountOptions, 'access' | 'isSignInPage'> {
  readonly embedded: Embedded;
  readonly router: Router;
}

/** The user of the page, their permissions, and the service as the user can access it. */
export interface Access {
  /** Null without access control. */
  readonly account: Account | null;
  readonly permissions: Permissions;
  readonly service: Service;
}

export function createAccess({ embedded, router, ...options }: AccessOptions): Access {
  const { access, response, readOnly: isReadOnly } = embedded;
  const { urls } = options;
  let activeChanges = 0;
  const onChange = (by: 1 | -1) => {
    activeChanges += by;
  };
  const isSignInPage = response instanceof Error && (response.isSignInRequired || isOutsideFolders(urls));
  const isBusy = () => activeChanges > 0 || options.isBusy();
  const account = access && createAccount({ ...options, access, isSignInPage, isBusy });
  const shown = computed(() => router.route.value.folder);
  const isAnonymous = () => account?.username.value === null;
  const permissions = createPermissions({ isReadOnly, isControlled: account !== null, isAnonymous, shown });
  if (!(response instanceof Error)) permissions.update(response);
  const service = createService(urls);
  const readUser = () => readSessionUser(urls).catch(() => undefined);
  return {
    account,
    permissions,
    service: account ? withReauth(service, { account, permissions, shown, onChange, readUser }) : service,
  };
}

/** Whether the page has the URL of a link to a file or of an endpoint, such as the OIDC callback. */
function isOutsideFolders(urls: Urls): boolean {
  return /^(file|-)\//.test(urls.routeOf(new URL(window.location.href)).folder);
}
