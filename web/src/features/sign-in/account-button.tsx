import type { Account } from '../../model/account/account.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { shownName } from '../../platform/text/shown-name.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { MenuButton, type MenuGroup } from '../../ui/menus.tsx';
import { NARROW, useMedia } from '../../ui/responsive.ts';
import { useAccount } from '../models.ts';

/** Who one is, with the way out; the way in for whoever is nobody yet. Nothing where there is nobody to be. */
export function AccountPlace() {
  const account = useAccount();
  if (!account) return null;
  const name = account.name.value;
  if (name !== null) return <SignedIn account={account} name={name} />;
  return account.canSignIn ? <SignedOut account={account} /> : null;
}

function SignedOut({ account }: { account: Account }) {
  const { text } = useLanguage();
  const isNarrow = useMedia(NARROW);
  const ask = () => void account.ask();
  if (isNarrow) return <IconButton icon="account" label={text.account.signIn} onClick={ask} />;
  return <Button onClick={ask}>{text.account.signIn}</Button>;
}

function SignedIn({ account, name }: { account: Account; name: string }) {
  const { text } = useLanguage();
  const isNarrow = useMedia(NARROW);
  const label = text.account.signedInAs({ name });
  const [initial = ''] = shownName(name);
  const groups = (): readonly MenuGroup[] => {
    const signOut = () => void account.signOut();
    const items = [{ id: 'sign-out', label: text.account.signOut, icon: 'sign-out', run: signOut }] as const;
    // On a phone the menu has its name above.
    return [isNarrow ? items : { label, items }];
  };
  return (
    <MenuButton class="icon-button account" label={label} groups={groups}>
      <span class="initial" title={label}>
        {initial.toLocaleUpperCase()}
      </span>
    </MenuButton>
  );
}
