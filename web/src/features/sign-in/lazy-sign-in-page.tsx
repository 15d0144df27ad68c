import type { Account } from '../../model/account/account.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { Button } from '../../ui/button.tsx';
import { useLoaded } from '../../ui/loading.ts';

/** Loads the sign-in page and shows it. */
export function LazySignInPage({ account }: { account: Account }) {
  const { text } = useLanguage();
  const loaded = useLoaded(() => import('./sign-in-page.tsx'));
  if (loaded.state === 'ready') return <loaded.value.SignInPage account={account} />;
  if (loaded.state === 'loading') return null;
  return (
    <main class="state">
      <p class="title" role="alert">
        {text.problems.unreachable}
      </p>
      <Button onClick={loaded.retry}>{text.controls.retry}</Button>
    </main>
  );
}
