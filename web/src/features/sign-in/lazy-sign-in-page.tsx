import type { Account } from '../../model/account/account.ts';
import { completeLanguage } from '../../platform/text/language.ts';
import { useLanguage, useLanguageSignal } from '../../platform/text/language-context.ts';
import { Button } from '../../ui/button.tsx';
import { useLoaded } from '../../ui/loading.ts';

/** Loads the sign-in page and shows it. */
export function LazySignInPage({ account }: { account: Account }) {
  const { text } = useLanguage();
  const language = useLanguageSignal();
  const loaded = useLoaded(async () => {
    const [{ SignInPage }] = await Promise.all([import('./sign-in-page.tsx'), completeLanguage(language)]);
    return { SignInPage };
  });
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
