import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { Button } from '../../ui/button.tsx';
import mark from '../../ui/mark.svg';
import { usePage } from '../page.ts';
import { ROOT } from '../../platform/paths.ts';
import type { ServiceError } from '../../platform/service/service-error.ts';
import { useFullLanguage, useLanguage } from '../../platform/text/language-context.ts';
import type { Account } from '../../model/account/account.ts';
import { useSignInAttempt } from './sign-in-attempt.ts';
import { ProviderLink, SignInFields } from './sign-in-fields.tsx';
import { returnFromProvider } from './sign-in-return.ts';
import './sign-in.css';

/**
 * In the place of a page that nobody sees before they have signed in, or that is refused to who is signed in; it is
 * loaded anew when somebody has.
 */
export function SignInPage({ account }: { account: Account }) {
  const { folder, urls } = usePage();
  const [first] = useState(() => ({ name: account.name.value, isBack: returnFromProvider(urls) }));
  const [isAsked, setAsked] = useState(first.name === null || first.isBack);
  const name = account.name.value;
  useEffect(() => {
    if (name !== null && name !== first.name) account.leave();
  }, [name]);

  if (!isAsked) return <Refusal account={account} onSignIn={() => setAsked(true)} />;
  return <SignIn account={account} problem={first.isBack ? folder.problem.value : null} />;
}

/** `problem`: why it did not go by the provider. */
function SignIn({ account, problem }: { account: Account; problem: ServiceError | null }) {
  const language = useFullLanguage();
  const { text } = language;
  const { password, provider } = account.ways;
  const isNeeded = problem === null && account.name.value === null;
  return (
    <Card title={text.account.signIn}>
      {!account.canSignIn && <p class="why">{text.account.noWay}</p>}
      {account.canSignIn && isNeeded && <p class="why">{text.account.needed}</p>}
      {problem && (
        <p class="problem" role="alert">
          {language.reasonOf(problem)}
        </p>
      )}
      {password && <PasswordForm account={account} />}
      {password && provider && <p class="or">{text.account.or}</p>}
      {provider && <ProviderLink account={account} />}
      {!isNeeded && <HomeLink />}
    </Card>
  );
}

/** Why a file is not shown. */
function Refusal({ account, onSignIn }: { account: Account; onSignIn: () => void }) {
  const { folder } = usePage();
  const language = useFullLanguage();
  const { text } = language;
  const problem = folder.problem.value;
  return (
    <Card title={text.problems.refusedFile}>
      <p class="why" role="alert">
        {problem && language.reasonOf(problem)}
      </p>
      {account.name.value !== null && <p class="why">{text.account.signedInAs({ name: account.name.value })}</p>}
      {account.canSignIn && (
        <Button kind="primary" onClick={onSignIn}>
          {text.account.signInAs}
        </Button>
      )}
      <Button onClick={account.leave}>{text.controls.retry}</Button>
      <HomeLink />
    </Card>
  );
}

function Card({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <main class="sign-in-page">
      <div class="card">
        <header>
          <img src={mark} alt="Holdall" draggable={false} />
          <h1>{title}</h1>
        </header>
        {children}
      </div>
    </main>
  );
}

function HomeLink() {
  const { urls } = usePage();
  const { text } = useLanguage();
  return (
    <a class="button plain" href={urls.page(ROOT)}>
      <span>{text.problems.goHome}</span>
    </a>
  );
}

function PasswordForm({ account }: { account: Account }) {
  const { text } = useLanguage();
  const attempt = useSignInAttempt(account, account.leave);
  useLayoutEffect(() => attempt.name.current?.focus(), []);
  return (
    <form
      // Never by the address, whatever happens.
      method="post"
      onSubmit={(event) => {
        event.preventDefault();
        attempt.send();
      }}
    >
      <SignInFields attempt={attempt} />
      <Button kind="primary" type="submit">
        {attempt.isSending ? text.account.signingIn : text.account.signIn}
      </Button>
    </form>
  );
}
