/** Shows that the page could not start. In English, because it is shown if the texts of no language could be loaded. */
export function showStartFailure(root: Element): void {
  const message = document.createElement('p');
  message.setAttribute('role', 'alert');
  message.textContent = 'Couldn’t load this page. Check your connection, then reload.';
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Reload';
  button.addEventListener('click', () => window.location.reload());
  root.replaceChildren(message, button);
}
