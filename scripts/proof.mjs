// `npm run proof -- NAME [options]`: what takes longer than `npm test` allows, or needs programs that a checkout doesn't have. Without a
// name it lists them; the head of each file has its options.
const proofs = {
  batch: ['proofs/batch.mjs', 'kills, memory and verdicts of batches'],
  contract: ['proofs/contract.mjs', 'schemathesis against the service; needs Python'],
  'docker-steps': ['proofs/docker-steps.mjs', 'steps of the Dockerfile without Docker; needs root on Linux'],
  fuzz: ['proofs/fuzz.mjs', '100,000 random and mutated texts, and very large ones'],
  'fuzz-mcp': ['proofs/fuzz-mcp.mjs', 'broken and hostile MCP messages between the official client and server'],
  keys: ['proofs/keys.mjs', '500 rotations of a key under load on each database'],
  package: ['tests/package.mjs', "the tarball in a stranger's project; a part of npm test"],
  python: ['tests/python.mjs', 'the Python client against a service; a part of npm test'],
  site: ['proofs/site.mjs', 'the documentation as a site: links, axe, search; needs Chromium'],
  soak: ['proofs/soak.mjs', 'the service under load and trouble: kill, outage, quota, keys, model, memory or all'],
  spark: ['tests/spark.mjs', 'the Spark module on two executors; needs Java and Python'],
  store: ['proofs/store.mjs', 'kills, races and an outage of the databases'],
};

const [name] = process.argv.splice(2, 1);
if (name !== undefined && Object.hasOwn(proofs, name)) await import(`./${proofs[name][0]}`);
else {
  const lines = Object.entries(proofs).map(([key, [, what]]) => `  ${key.padEnd(13)} ${what}`);
  console.error(`usage: npm run proof -- NAME [options]\n${lines.join('\n')}`);
  process.exitCode = 2;
}
