import { Button } from '../../ui/button.tsx';
import { useLoaded } from '../../ui/use-loaded.ts';
import { usePage } from '../page.ts';
import { completeLanguage } from '../../platform/text/language.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import type { Account } from '../../model/account/account.ts';

/** The page to sign in, of which the code is loaded when somebody has to. */
export function SignInFirst({ account }: { account: Account }) {
  const { text } = useLanguage();
  const { language } = usePage();
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
