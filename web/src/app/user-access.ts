import type { ReadonlySignal } from '@preact/signals';
import { type Account, type AccountPrompts, createAccount } from '../model/account/account.ts';
import type { Permissions } from '../model/account/permissions.ts';
import { withReauth } from '../model/account/with-reauth.ts';
import type { Messages } from '../model/messages.ts';
import type { Embedded } from '../platform/embedded.ts';
import type { Service } from '../platform/service/service.ts';
import { readSessionUser } from '../platform/service/session.ts';
import type { Urls } from '../platform/service/urls.ts';
import { completeLanguage, type Language } from '../platform/text/language.ts';
import type { Dialogs } from '../ui/dialogs.tsx';

/** The user of the page, their permissions, and the service as the user can access it. */
export interface UserAccess {
  /** Null without access control. */
  readonly account: Account | null;
  readonly permissions: Permissions;
  readonly service: Service;
}

interface UserAccessOptions {
  readonly embedded: Embedded;
  readonly urls: Urls;
  readonly messages: Messages;
  readonly language: ReadonlySignal<Language>;
  /** Whether work is in progress that a reload would cancel. */
  readonly isBusy: () => boolean;
  /** The path of the shown folder. */
  readonly shown: ReadonlySignal<string>;
  readonly dialogs: Dialogs;
}

/** Returns a function that creates the account of a page with access control, and the service that signs in again. */
export function userAccessOf({ embedded, dialogs, shown, ...options }: UserAccessOptions) {
  const { access, response } = embedded;
  const { urls, language } = options;
  return (permissions: Permissions, service: Service): UserAccess => {
    if (access === null) return { account: null, permissions, service };
    let activeChanges = 0;
    const onChange = (by: 1 | -1) => {
      activeChanges += by;
    };
    const isSignInPage = response instanceof Error && (response.isSignInRequired || isOutsideFolders(urls));
    const readUser = () => readSessionUser(urls).catch(() => undefined);
    const account = createAccount({
      ...options,
      readUser,
      access,
      isSignInPage,
      isBusy: () => activeChanges > 0 || options.isBusy(),
      prompts: accountPrompts(dialogs, language),
    });
    return { account, permissions, service: withReauth(service, { account, permissions, shown, onChange, readUser }) };
  };
}

/** Whether the page has the URL of a link to a file or of an endpoint, such as the OIDC callback. */
function isOutsideFolders(urls: Urls): boolean {
  return /^(file|-)\//.test(urls.routeOf(new URL(window.location.href)).folder);
}

/** Creates the questions about signing in and out. Their dialogs load when they are needed. */
function accountPrompts(dialogs: Dialogs, language: ReadonlySignal<Language>): AccountPrompts {
  return {
    async signIn(options) {
      const [{ showSignInDialog }] = await Promise.all([
        import('../features/sign-in/sign-in-dialog.tsx'),
        completeLanguage(language),
      ]);
      await showSignInDialog(dialogs, options);
    },
    async confirmSignOut() {
      const { confirmSignOut } = await import('../features/sign-in/sign-out-question.tsx');
      return confirmSignOut(dialogs);
    },
  };
}
