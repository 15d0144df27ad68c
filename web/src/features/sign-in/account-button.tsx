import type { Account } from '../../model/account/account.ts';
import { useLanguage } from '../../platform/text/language.ts';
import { shownName } from '../../platform/text/names.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { MenuButton, type MenuGroup } from '../../ui/menus.tsx';
import { NARROW, useMedia } from '../../ui/responsive.ts';
import { useAccount } from '../models.ts';

/** The menu of the signed-in user, or the button to sign in. Shows nothing without access control or sign-in methods. */
export function AccountButton() {
  const account = useAccount();
  if (!account) return null;
  const username = account.username.value;
  if (username !== null) return <AccountMenu account={account} username={username} />;
  return account.canSignIn ? <SignInButton account={account} /> : null;
}

function SignInButton({ account }: { account: Account }) {
  const { text } = useLanguage();
  const isNarrow = useMedia(NARROW);
  const signIn = () => void account.requestSignIn();
  if (isNarrow) return <IconButton icon="account" label={text.account.signIn} onClick={signIn} />;
  return <Button onClick={signIn}>{text.account.signIn}</Button>;
}

function AccountMenu({ account, username }: { account: Account; username: string }) {
  const { text } = useLanguage();
  const isNarrow = useMedia(NARROW);
  const label = text.account.signedInAs({ name: username });
  const [initial = ''] = shownName(username);
  const groups = (): readonly MenuGroup[] => {
    const signOut = () => void account.signOut();
    const items = [{ id: 'sign-out', label: text.account.signOut, icon: 'sign-out', run: signOut }] as const;
    // On a phone, the menu has a heading with its label.
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
