import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { Account } from '../../model/account/account.ts';
import { ROOT } from '../../platform/paths.ts';
import type { ServiceError } from '../../platform/service/service-error.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { useFolder, useUrls } from '../models.ts';
import { Card } from './card.tsx';
import { hasProviderFailed, useSignInForm } from './sign-in.ts';
import { ProviderLink, SignInFields } from './sign-in-fields.tsx';

/**
 * The page for users who must sign in to see anything, or who lack the permission to read the file of a link. It reloads
 * after signing in.
 */
export function SignInPage({ account }: { account: Account }) {
  const folder = useFolder();
  const urls = useUrls();
  const [first] = useState(() => ({ username: account.username.value, hasFailed: hasProviderFailed(urls) }));
  const [isForm, setForm] = useState(first.username === null || first.hasFailed);
  const username = account.username.value;
  useEffect(() => {
    const isNew = username !== null && username !== first.username;
    if (isNew && !account.isReloading.value) account.reload();
  }, [username]);

  // A user can have signed in while the page was loading.
  useEffect(() => void account.check(), []);

  if (!isForm) return <FileRefused account={account} onSignIn={() => setForm(true)} />;
  return <SignIn account={account} problem={first.hasFailed ? folder.problem.value : null} />;
}

/** `problem` is the reason why signing in at the identity provider failed. */
function SignIn({ account, problem }: { account: Account; problem: ServiceError | null }) {
  const language = useFullLanguage();
  const { text } = language;
  const { password, provider } = account.signInMethods;
  const isNeeded = problem === null && account.username.value === null;
  return (
    <Card title={text.account.signIn}>
      {!account.canSignIn && <p class="why">{text.signIn.signInUnavailable}</p>}
      {account.canSignIn && isNeeded && <p class="why">{text.signIn.signInRequired}</p>}
      {problem && (
        <p class="problem" role="alert">
          {language.reasonOf(problem)}
        </p>
      )}
      {password && <PasswordForm account={account} />}
      {password && provider && <p class="or">{text.signIn.or}</p>}
      {provider && <ProviderLink account={account} />}
      {!isNeeded && <HomeLink />}
    </Card>
  );
}

/** Shows why the user can't see the file. */
function FileRefused({ account, onSignIn }: { account: Account; onSignIn: () => void }) {
  const folder = useFolder();
  const language = useFullLanguage();
  const { text } = language;
  const problem = folder.problem.value;
  return (
    <Card title={text.problems.fileOpenFailed}>
      <p class="why" role="alert">
        {problem && language.reasonOf(problem)}
      </p>
      {account.username.value !== null && (
        <p class="why">{text.account.signedInAs({ name: account.username.value })}</p>
      )}
      {account.canSignIn && (
        <Button kind="primary" onClick={onSignIn}>
          {text.account.signInAs}
        </Button>
      )}
      <Button onClick={account.reload}>{text.controls.retry}</Button>
      <HomeLink />
    </Card>
  );
}

function HomeLink() {
  const urls = useUrls();
  const { text } = useFullLanguage();
  return (
    <a class="button plain" href={urls.page(ROOT)}>
      <span>{text.problems.goHome}</span>
    </a>
  );
}

function PasswordForm({ account }: { account: Account }) {
  const { text } = useFullLanguage();
  const form = useSignInForm(account, account.reload);
  useLayoutEffect(() => form.username.current?.focus(), []);
  return (
    <form
      // If the browser submitted a GET form, the password would be in the URL.
      method="post"
      onSubmit={(event) => {
        event.preventDefault();
        form.submit();
      }}
    >
      <SignInFields form={form} />
      <Button kind="primary" type="submit">
        {form.isSending ? text.signIn.signingIn : text.account.signIn}
      </Button>
    </form>
  );
}
