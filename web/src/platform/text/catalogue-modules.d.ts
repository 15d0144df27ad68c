// `web/message-compiler.ts` provides these modules.

declare module '*.json?initial' {
  const catalogue: import('./messages.ts').Catalogue;
  export default catalogue;
}

declare module '*.json?lazy' {
  const catalogue: import('./messages.ts').Catalogue;
  export default catalogue;
}

declare module '*.json?connect' {
  const catalogue: import('./messages.ts').Catalogue;
  export default catalogue;
}

declare module '*.json?offline' {
  const catalogue: import('./messages.ts').Catalogue;
  export default catalogue;
}
